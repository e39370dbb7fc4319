#include "controller/cli/render/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

using Levels = google::protobuf::RepeatedField<double>;
constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

constexpr double kHighest = kBars.size() - 1;
constexpr double kLeastScale = 0.02;  // noise of a thousandth shall not look like a mountain
}  // namespace

std::string sparkline(const Levels& before, const Levels& after) {
  if (before.empty() && after.empty()) return "";
  double low = 1e300;
  double high = -1e300;
  for (const Levels* side : {&before, &after})
    for (const double level : *side) {
      low = std::min(low, level);
      high = std::max(high, level);
    }
  const double middle = (low + high) / 2;
  const double half = std::max(high - low, kLeastScale) / 2;
  const auto bars = [&](const Levels& side) {
    std::string text;
    for (const double level : side) {
      const double share = std::clamp((level - middle + half) / (2 * half), 0.0, 1.0);
      text += kBars.at(static_cast<std::size_t>(std::lround(share * kHighest)));
    }
    return text;
  };
  return bars(before) + "|" + bars(after);
}

std::string headed_lines(const std::string& heading,
                         const google::protobuf::RepeatedPtrField<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += fmt::format("{}{}\n", text.empty() ? heading + "\n  " : "  ", line);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace railgauge::cli

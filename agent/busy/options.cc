#include "agent/busy/options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
Status check_range(const char* setting, double value, double most) {
  if (value >= 0 && value <= most) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("--{}: {} is not between 0 and {}", setting, value, most));
}
std::vector<std::string> list_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kBusySources));
  for (const BusySource& source : kBusySources) names.emplace_back(source.name);
  return names;
}
}  // namespace

std::string busy_source_names() { return fmt::format("{}", fmt::join(list_names(), ", ")); }

Result<BusySources> read_busy_sources(const BusyOptions& options) {
  const std::vector<std::string> known = list_names();
  RG_TRY_OK(check_range("busy-load-per-cpu", options.load_per_cpu, 1000));
  RG_TRY_OK(check_range("busy-gpu-percent", options.gpu_percent, 100));
  RG_TRY_OK(check_range("busy-settle-seconds", options.settle_seconds, 3600));
  BusySources sources;
  sources.none = options.sources == "none";
  sources.all_present = options.sources == "auto";
  if (sources.none || sources.all_present) return sources;
  std::istringstream words(options.sources);
  for (std::string word; std::getline(words, word, ',');) {
    std::erase(word, ' ');
    if (std::ranges::find(known, word) == known.end())
      return fail(Code::kInvalidArgument,
                  fmt::format("--busy-sources: no source {}{}; there are auto, none or some of {}",
                              in_quotes(word), did_you_mean(word, known), busy_source_names()));
    sources.named.insert(word);
  }
  if (sources.named.contains("hook") && hook_words(options.hook).empty())
    return fail(Code::kInvalidArgument, "--busy-sources: hook needs --busy-hook COMMAND");
  if (sources.named.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("--busy-sources: name some of {}, auto or none", busy_source_names()));
  return sources;
}

std::vector<std::string> hook_words(const std::string& hook) {
  std::vector<std::string> words;
  std::istringstream text(hook);
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

}  // namespace railgauge::agent

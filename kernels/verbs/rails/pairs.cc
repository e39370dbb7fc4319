// Which links several devices make: what of kernels/verbs/rails/rails.h is pure.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "kernels/verbs/rails/rails.h"

namespace railgauge::verbs {
namespace {

// At commas; an empty text is one empty word.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::vector<RailPair> rail_pairs(std::string_view rails, std::size_t count) {
  std::vector<RailPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    if (rails == "same") pairs.push_back({i, i});
    if (rails == "cross") pairs.push_back({i, (i + 1) % count});
    for (std::size_t k = 0; rails == "all" && k < count; ++k) pairs.push_back({i, k});
  }
  return pairs;
}

// A repeated port would compete with itself and look like a slow rail.
Result<std::vector<std::string>> parse_devices(const std::string& text) {
  std::vector<std::string> devices = split(text);
  std::set<std::string> seen;
  for (const std::string& device : devices)
    if (device.empty() || !seen.insert(device).second)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter devices: \"{}\" {}; name each port once, as DEV:PORT,DEV:PORT",
                      text, device.empty() ? "has an empty name" : "repeats one"));
  return devices;
}

Result<std::vector<std::string>> one_for_each(std::string_view parameter, const std::string& text,
                                              std::size_t count) {
  std::vector<std::string> values = split(text);
  if (values.size() == 1) values.assign(count, values.front());
  if (values.size() == count) return values;
  return fail(Code::kInvalidArgument,
              fmt::format("parameter {}: \"{}\" names {} for {} devices; name one for all, or one "
                          "for each as they are named",
                          parameter, text, values.size(), count));
}

}  // namespace railgauge::verbs

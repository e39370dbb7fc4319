// Switches of all fakes: set by a test, or by an environment variable as NAME=VALUE,NAME=VALUE; a
// name alone means 1.
#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace railgauge::fake {

struct Setting {
  std::string_view name;
  std::atomic<std::uint64_t>& value;
  std::uint64_t initial;
};

// Sets every setting to its initial value, then to the value in the environment's `variable`.
inline void apply_settings(std::span<const Setting> settings, const char* variable) {
  for (const Setting& setting : settings) setting.value = setting.initial;
  const char* environment = std::getenv(variable);
  std::string_view rest = environment != nullptr ? environment : "";
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    for (const Setting& setting : settings) {
      std::uint64_t value = 1;
      if (equals != std::string_view::npos)
        std::from_chars(item.data() + equals + 1, item.data() + item.size(), value);
      if (item.substr(0, equals) == setting.name) setting.value = value;
    }
  }
}

}  // namespace railgauge::fake

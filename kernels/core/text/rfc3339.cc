// One formatter of times, by gmtime_r.
#include "kernels/core/text/rfc3339.h"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace railgauge {

// Rounds to milliseconds first, so that the seconds carry.
std::string rfc3339(double unix_seconds) {
  if (unix_seconds <= 0) return "";
  const auto milliseconds = static_cast<long long>(std::llround(unix_seconds * 1e3));
  const std::time_t seconds = milliseconds / 1'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     milliseconds % 1'000);
}

}  // namespace railgauge

#include "kernels/core/text/rfc3339.h"

#include <charconv>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace railgauge {

namespace {

// Takes off the front what `form` of strptime(3) describes; false where it does not fit.
bool take(const char*& at, const char* form, std::tm& parts) {
  const char* behind = ::strptime(at, form, &parts);
  if (behind != nullptr) at = behind;
  return behind != nullptr;
}

}  // namespace

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

// Date and clock are read apart, so that a leap second does not move the date.
std::optional<double> parse_calendar(std::string_view view) {
  const std::string text(view);
  const char* at = text.c_str();
  std::tm date{};
  date.tm_mday = 1;
  if (!take(at, "%Y-%m", date) || (*at == '-' && !take(at, "-%d", date))) return std::nullopt;
  const int day = date.tm_mday;
  double seconds = static_cast<double>(::timegm(&date));
  if (date.tm_mday != day) return std::nullopt;  // no such day: it is one of the next month
  if (*at == 'T' || *at == ' ') {
    std::tm clock{};
    double fraction = 0;
    if (!take(++at, "%H:%M", clock) || (*at == ':' && !take(at, ":%S", clock))) return std::nullopt;
    if (*at == '.')
      at = std::from_chars(at, text.c_str() + text.size(), fraction, std::chars_format::fixed).ptr;
    if (*at != '\0' && !take(at, "%z", clock)) return std::nullopt;
    seconds += clock.tm_hour * 3600.0 + clock.tm_min * 60.0 + clock.tm_sec + fraction -
               static_cast<double>(clock.tm_gmtoff);
  }
  return *at == '\0' ? std::optional(seconds) : std::nullopt;
}

}  // namespace railgauge

#include "kernels/core/text/rfc3339.h"

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace railgauge {
namespace {

// Takes `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

// Takes `expected` off the front; false, with nothing taken, for another character.
bool take_char(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds of "2026-11" or "2026-11-20"; nothing for a date that the calendar does not have.
std::optional<double> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take_char(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month) return std::nullopt;
  // A month alone is its first day.
  std::optional<int> day = 1;
  if (take_char(text, '-')) day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return 86400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

// Seconds of "12:30", "12:30:15" or "12:30:15.25" since midnight. 60 is allowed for a leap second.
std::optional<double> take_clock(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  double seconds = *hour * 3600.0 + *minute * 60.0;
  if (!take_char(text, ':')) return seconds;
  const auto whole = take_number(text, 2);
  if (!whole || *whole > 60) return std::nullopt;
  seconds += *whole;
  if (!take_char(text, '.')) return seconds;
  double place = 0.1;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    seconds += place * (text.front() - '0');
    place /= 10;
    text.remove_prefix(1);
  }
  return seconds;
}

// Seconds east of UTC; 0 where the text ends.
std::optional<double> take_zone(std::string_view& text) {
  if (text.empty() || take_char(text, 'Z')) return 0;
  const double sign = text.front() == '-' ? -1 : 1;
  if (!take_char(text, '+') && !take_char(text, '-')) return std::nullopt;
  const auto hours = take_number(text, 2);
  take_char(text, ':');
  const auto minutes = take_number(text, 2);
  if (!hours || !minutes) return std::nullopt;
  return sign * (*hours * 3600.0 + *minutes * 60.0);
}

}  // namespace

std::string utc_text(double unix_seconds, const char* form) {
  const auto seconds = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &utc)};
}

std::string rfc3339(double unix_seconds) {
  if (unix_seconds <= 0) return "";
  const auto milliseconds = static_cast<long long>(std::llround(unix_seconds * 1e3));
  return fmt::format("{}.{:03}Z",
                     utc_text(static_cast<double>(milliseconds / 1'000), "%Y-%m-%dT%H:%M:%S"),
                     milliseconds % 1'000);
}

std::optional<double> parse_calendar(std::string_view text) {
  auto seconds = take_date(text);
  if (!seconds || text.empty()) return seconds;
  if (!take_char(text, 'T') && !take_char(text, ' ')) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const auto zone = take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  return *seconds + *clock - *zone;
}

}  // namespace railgauge

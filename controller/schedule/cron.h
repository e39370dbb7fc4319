// Cron expressions, and wall-clock time of a place from the host's tzdata. Pure except for the
// zone, which reads tzdata once. The only user of the date library.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace date {
class time_zone;
}

namespace railgauge::run {

// A day and a minute of it as a clock on the wall shows them.
struct WallTime {
  std::int64_t day = 0;  // since 1970-01-01
  int minute = 0;        // of the day, 0 to 1439
};

// A time zone. Thread safe; a copy refers to tzdata, which lives as long as the program.
class TimeZone {
 public:
  // "Europe/Berlin", "UTC". kInvalidArgument: no such zone in this host's tzdata, or there is none.
  static Result<TimeZone> find(const std::string& name);

  [[nodiscard]] WallTime wall_time(double unix_seconds) const;
  // The moment at which the clock shows `wall`, in unix seconds. A time that the clock skips
  // (daylight saving begins) maps to the first moment after the gap. A time that it shows twice
  // (daylight saving ends) maps to the first of both. The mapping is monotonic.
  [[nodiscard]] double unix_seconds(WallTime wall) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}
  const date::time_zone* zone_;
};

// "MINUTE HOUR DAY MONTH WEEKDAY": *, lists, ranges, steps (*/15, 8-18/2), names (jan, mon),
// weekday 0 and 7 both Sunday; or @hourly, @daily, @weekly, @monthly, @yearly. If day and weekday
// are both restricted (neither begins with *), one of them is enough, as in crontab(5).
struct Cron {
  std::vector<int> minutes_of_day{};  // ascending
  std::bitset<32> days{};             // of the month, from 1
  std::bitset<13> months{};           // from 1
  std::bitset<7> weekdays{};          // 0 is Sunday
  bool either_day = false;            // day or weekday is enough

  [[nodiscard]] bool has_day(std::int64_t day) const;  // since 1970-01-01
};

// kInvalidArgument, one line that names the field, and what is allowed in it.
Result<Cron> parse_cron(std::string_view text);

// The first due time after `after`, both unix seconds. Wall times become moments by
// TimeZone::unix_seconds, each moment once. Absent: none within nine years (30 February).
std::optional<double> next_due(const Cron& cron, const TimeZone& zone, double after);

// 0 is Sunday; `day` since 1970-01-01.
int weekday_of(std::int64_t day);
// "sun" to "sat" in any case; absent for other words.
std::optional<int> parse_weekday(std::string_view word);

}  // namespace railgauge::run

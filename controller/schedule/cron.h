// Cron expressions and when they are due. Pure but for the zone, which reads tzdata once.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/schedule/time_zone.h"
#include "kernels/core/base/result.h"

namespace railgauge::run {

// "MINUTE HOUR DAY MONTH WEEKDAY": *, lists, ranges, steps (*/15, 8-18/2), names (jan, mon),
// weekday 0 and 7 both Sunday; or @hourly, @daily, @weekly, @monthly, @yearly. Day and weekday:
// when both are restricted (neither begins with *), one of them is enough, as cron has always had
// it.
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

// The first due time after `after`, both unix seconds: what TimeZone::unix_seconds makes of the
// wall times, each moment once. Nothing when none comes within nine years (30 February).
std::optional<double> next_due(const Cron& cron, const TimeZone& zone, double after);

// 0 is Sunday; `day` since 1970-01-01.
int weekday_of(std::int64_t day);
// sun to sat in any case; nothing for other words.
std::optional<int> parse_weekday(std::string_view word);

}  // namespace railgauge::run

#include "controller/schedule/time_zone.h"

#include <date/tz.h>

#include <chrono>
#include <cmath>
#include <exception>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::run {

Result<TimeZone> TimeZone::find(const std::string& name) {
  try {
    return TimeZone(date::locate_zone(name));
  } catch (const std::exception&) {
    return fail(Code::kInvalidArgument,
                fmt::format("time zone {}: this host's tzdata has none of that name; examples are "
                            "UTC and Europe/Berlin",
                            in_quotes(name)));
  }
}

WallTime TimeZone::wall_time(double unix_seconds) const {
  const date::sys_seconds moment{
      std::chrono::seconds(static_cast<std::int64_t>(std::floor(unix_seconds)))};
  const date::local_seconds local = zone_->to_local(moment);
  const date::local_days day = date::floor<date::days>(local);
  return {day.time_since_epoch().count(),
          static_cast<int>(std::chrono::duration_cast<std::chrono::minutes>(local - day).count())};
}

double TimeZone::unix_seconds(WallTime wall) const {
  const date::local_seconds local{std::chrono::hours(24 * wall.day) +
                                  std::chrono::minutes(wall.minute)};
  const date::local_info info = zone_->get_info(local);
  const date::sys_seconds moment =
      info.result == date::local_info::nonexistent
          ? info.first.end
          : date::sys_seconds(local.time_since_epoch() - info.first.offset);
  return static_cast<double>(moment.time_since_epoch().count());
}

}  // namespace railgauge::run

// Wall-clock time of a place, from the host's tzdata. The only user of the date library.
#pragma once

#include <cstdint>
#include <string>

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

// Thread safe; lives as long as the program, like the zones themselves.
class TimeZone {
 public:
  // "Europe/Berlin", "UTC". kInvalidArgument: no such zone in this host's tzdata, or there is none.
  static Result<TimeZone> find(const std::string& name);

  [[nodiscard]] WallTime wall_time(double unix_seconds) const;
  // When the clock shows that. What it skips (daylight saving begins) is the first moment after the
  // gap; what it shows twice (daylight saving ends) is the first of both. So a later wall time is
  // never earlier.
  [[nodiscard]] double unix_seconds(WallTime wall) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}
  const date::time_zone* zone_;
};

}  // namespace railgauge::run

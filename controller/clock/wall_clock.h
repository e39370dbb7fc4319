// The calendar's time: what is stored, shown, scheduled, kept and certified goes by it. It is the
// host's clock, or a simulated one for the whole process. Waits for the network and for tasks go by
// the host's monotonic clock in either case. Thread safe.
#pragma once

#include <memory>

#include "controller/clock/clock_page.h"

namespace railgauge {

// From now on the process has this clock. Call it before other threads start; for good.
void use_simulated_clock(std::shared_ptr<ClockPage> page);
// Null: the host's clock is in use.
std::shared_ptr<ClockPage> simulated_clock();

// Unix seconds.
double wall_seconds();
// Never goes back: CLOCK_MONOTONIC in seconds, or the simulated time. For what is due once in so
// many hours.
double calendar_seconds();
// The skew of a clock that showed `unix_seconds` a moment ago, in seconds. A message that a jump
// overtook is compared with the time before it.
double skew_of(double unix_seconds);

}  // namespace railgauge

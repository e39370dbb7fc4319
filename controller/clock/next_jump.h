// Where a simulated clock jumps next. Pure.
#pragma once

#include <optional>

namespace railgauge {

// Agents and the watch of changed stacks see the site at least this often, in seconds.
inline constexpr double kLongestJumpSeconds = 6 * 3600;
// So long before a due time agents notice what has changed at their nodes, in seconds.
inline constexpr double kEarlySeconds = 60;

// All in unix seconds. `next_due`: when something is to be started; absent: nothing is. Absent: the
// wanted time is reached.
std::optional<double> next_jump(double now, double wanted, std::optional<double> next_due);

}  // namespace railgauge

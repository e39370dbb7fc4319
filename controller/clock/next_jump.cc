#include "controller/clock/next_jump.h"

#include <algorithm>

namespace railgauge {

std::optional<double> next_jump(double now, double wanted, std::optional<double> next_due) {
  if (now >= wanted) return std::nullopt;
  double to = std::min(wanted, now + kLongestJumpSeconds);
  if (next_due && *next_due > now) {
    const double early = *next_due - kEarlySeconds;
    to = std::min(to, early > now ? early : *next_due);
  }
  return to;
}

}  // namespace railgauge

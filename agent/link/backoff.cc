#include "agent/link/backoff.h"

#include <algorithm>

namespace railgauge::agent {
namespace {
double jittered(double seconds, double unit_random) { return seconds * (0.5 + unit_random / 2); }
}  // namespace

double Backoff::next_seconds(double unit_random) {
  step_seconds_ = step_seconds_ > 0 ? std::min(step_seconds_ * 2, options_.most_seconds)
                                    : options_.first_seconds;
  return jittered(step_seconds_, unit_random);
}

double Backoff::refused_seconds(double unit_random) const {
  return jittered(options_.refused_seconds, unit_random);
}

}  // namespace railgauge::agent

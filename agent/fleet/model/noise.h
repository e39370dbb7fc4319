// Why a healthy figure differs from run to run: all noise of a scenario as one factor. Pure; thread
// safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/fleet/model/keyed_random.h"
#include "agent/fleet/scenario/scenario.h"

namespace railgauge::fleet {

// The figure that noise is drawn for.
struct NoisyFigure {
  std::string_view kernel;
  // The node of its first rank.
  std::uint32_t node = 0;
  // The identity of its series.
  DrawKey series{0};
  Nanoseconds time_ns = 0;
};

// The factor on the time that an operation takes, above 0; 1 without noise.
double noise_factor(const Scenario& scenario, const NoisyFigure& figure);

// Rounds the figure to the steps of quantised noise, which are shares of `healthy`.
double quantised(const Scenario& scenario, const NoisyFigure& figure, double value, double healthy);

// Whether it is day in the scenario; false without one.
bool is_day(const Scenario& scenario, Nanoseconds time_ns);

}  // namespace railgauge::fleet

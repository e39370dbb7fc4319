// The figures of a rate in which no pause can hide: all that moved over all time, the rate in slots
// of equal length, and the pauses. Pure; thread safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {

// A piece of a stream between two looks at it: what completed in it, in bytes or messages, and how
// long it took. Both are finite and at least 0.
struct Stretch {
  double amount = 0;
  double ns = 0;
};

// Length of a slot where completions come often enough.
inline constexpr double kRateSlotNs = 10e6;
// Shorter delays are polls, interrupts and the scheduler: no pause.
inline constexpr double kLeastPauseNs = 1e6;
// By how much of its need a stretch is late before it belongs to a pause.
inline constexpr double kLateShare = 0.5;

// The figures of one stream.
struct RateFigures {
  // The headline: the sum of all amounts over the sum of all times, a second.
  double per_second = 0;
  // The rate in each slot, in time order. Slots are equally long and cover all time: no part at the
  // end is left out. A stretch's amount counts evenly over its time.
  std::vector<double> slots;
  // kRateSlotNs, or longer where the stretches are: the time over the number of slots.
  double slot_ns = 0;
  double longest_pause_ns = 0;
  // Time in pauses over all time, 0 to 1.
  double pause_share = 0;
  // The 95 % interval of `per_second` over the allowed time. Absent below 8 stretches.
  std::optional<Interval> interval;
};

// Makes the figures of stretches in time order; time between two of them belongs to none.
//
// The pace of a stream is the time a unit takes in the middle unit of all that moved: half of the
// amount moved as fast or faster, however long the pauses between were. A stretch needs its amount
// times the pace, and is late by the rest. Neighbouring stretches that are late by more than
// kLateShare of their need make one pause, whose length is what they are late by; it counts from
// kLeastPauseNs on. All figures are 0 where no time passed.
//
// The interval is for the rate over `allowed_ns`, of which the stretches are the first part: what
// the time cap would have allowed. 0 asks for their own time alone. It is the widest of two, each
// of which sees what the other may not (decision 136): the scatter of slots, with the trend as for
// a median, and the pauses as rare events, of which a longer look finds more. It knows only of what
// the stretches met: a pause that comes less than once in a run is seen by other runs.
RateFigures rate_figures(std::span<const Stretch> in_time_order, double allowed_ns = 0);

// Makes stretches of equal amounts from their rates; their times add up to `ns`. A rate of 0 is a
// stretch of no amount that lasts the mean time of all. CHECKs that no rate is below 0.
std::vector<Stretch> equal_amounts(std::span<const double> rates, double ns);

// Makes stretches of one unit each from their times, which are scaled to add up to `ns`. CHECKs
// that no time is below 0.
std::vector<Stretch> equal_units(std::span<const double> times, double ns);

// Whether the interval of the rate exists and ends on both sides within `share` of it; `allowed_ns`
// as for rate_figures().
bool is_rate_precise(std::span<const Stretch> in_time_order, double share, double allowed_ns = 0);

// Sets the point's figures of a rate. A percentile or interval that too few slots bound stays
// absent. Without an interval the point is not converged; nor where it ends beyond `precision` of
// the rate, unless that is 0: no width was asked.
void set_rate(const RateFigures& figures, double precision, Point& point);

}  // namespace railgauge

// The pace by a weighted median, the pauses by it, and the slots in one walk.
#include "kernels/core/stats/rate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/dependence.h"

namespace railgauge {
namespace {

// The normal's quantile of a 95 % interval.
constexpr double kEndQuantile = 1.959964;
// Slots of a run that is too short for so many of kRateSlotNs, where its stretches allow them.
constexpr double kSlotsOfShortRun = 64;
// Length of the one event that was not seen, in those of the longest seen. The mean of the events
// beyond it is 3 where their tail is that of a Pareto distribution of shape 1.5, which has a mean
// and no variance. Half as much again, since runs converge whose longest is a short one.
constexpr double kUnseen = 4.5;

// A value and how much it counts.
struct Weighted {
  double value = 0;
  double weight = 0;
};

// The value in the middle of all weight; 0 where there is none. Equal weights, as most streams have
// them, need no order of all.
double weighted_median(std::vector<Weighted> all) {
  if (all.empty()) return 0;
  if (std::ranges::all_of(all, [&](const Weighted& one) { return one.weight == all[0].weight; })) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
    std::ranges::nth_element(all, middle, {}, &Weighted::value);
    return middle->value;
  }
  double weight = 0;
  for (const Weighted& one : all) weight += one.weight;
  std::ranges::sort(all, {}, &Weighted::value);
  double below = 0;
  for (const Weighted& one : all) {
    below += one.weight;
    if (2 * below >= weight) return one.value;
  }
  return 0;
}

// The `value` of the stretch in which the middle unit moved.
template <class Value>
double at_middle_unit(std::span<const Stretch> stretches, Value value) {
  std::vector<Weighted> all;
  all.reserve(stretches.size());
  for (const Stretch& stretch : stretches)
    if (stretch.amount > 0) all.push_back({value(stretch), stretch.amount});
  return weighted_median(std::move(all));
}

// Rare or frequent events, each with its weight in ns.
struct Events {
  double sum = 0;
  double squares = 0;
  double longest = 0;
  void add(double ns) {
    sum += ns;
    squares += ns * ns;
    longest = std::max(longest, ns);
  }
};

// The time that a stream lost and won against its pace.
struct Delays {
  std::vector<double> pauses_ns;
  // The time that stretches were late by, a run of very late ones as one event; and early by.
  Events late;
  Events early;
};

// One pass: a run of late stretches is one pause.
Delays delays_of(std::span<const Stretch> stretches) {
  const double pace = at_middle_unit(stretches, [](const Stretch& s) { return s.ns / s.amount; });
  Delays out;
  double run_ns = 0;
  const auto end_run = [&] {
    if (run_ns > 0) out.late.add(run_ns);
    if (run_ns >= kLeastPauseNs) out.pauses_ns.push_back(run_ns);
    run_ns = 0;
  };
  for (const Stretch& stretch : stretches) {
    const double need_ns = stretch.amount * pace;
    const double late_ns = stretch.ns - need_ns;
    if (late_ns > kLateShare * need_ns) {
      run_ns += late_ns;
      continue;
    }
    end_run();
    late_ns > 0 ? out.late.add(late_ns) : out.early.add(-late_ns);
  }
  end_run();
  return out;
}

// The rate in each of equal slots that cover all time.
struct Slots {
  std::vector<double> rates;
  double ns = 0;
};

// Divides all time into equal slots of `least_ns` at least, none shorter than the stretches, and
// each stretch's amount among those that it touches.
Slots slots_of(std::span<const Stretch> stretches, double total_ns, double least_ns) {
  least_ns = std::max(least_ns, at_middle_unit(stretches, [](const Stretch& s) { return s.ns; }));
  // The small share undoes the rounding of a quotient that is whole.
  constexpr double kRounding = 1e-9;
  const double count = std::max(1.0, std::floor(total_ns / least_ns * (1 + kRounding)));
  Slots out{.rates = std::vector<double>(static_cast<std::size_t>(count)), .ns = total_ns / count};
  std::size_t slot = 0;
  double at = 0;
  for (const Stretch& stretch : stretches) {
    const double end = at + stretch.ns;
    double left = stretch.amount;
    for (; slot + 1 < out.rates.size(); ++slot) {
      const double slot_end = static_cast<double>(slot + 1) * out.ns;
      if (end < slot_end) break;
      const double here =
          stretch.ns > 0 ? std::min(left, stretch.amount * (slot_end - at) / stretch.ns) : left;
      out.rates[slot] += here;
      left -= here;
      at = slot_end;
    }
    out.rates[slot] += left;
    at = end;
  }
  for (double& amount : out.rates) amount /= out.ns / 1e9;
  return out;
}

// --- the interval -------------------------------------------------------------------------------

// The quantile of a chi-squared distribution at the normal's quantile `z`, by Wilson and Hilferty's
// cube (1931): within 1 % at the upper end from 3 degrees of freedom on, and too low at the lower.
double chi_squared(double degrees, double z) {
  const double ninth = 2 / (9 * degrees);
  return degrees * std::pow(std::max(0.0, 1 - ninth + z * std::sqrt(ninth)), 3);
}

// How far the long-run sum of events may be from the seen one, with 95 %: below and above it.
struct Reach {
  double below = 0;
  double above = 0;
};

// The sum of events as a weighted sum of Poisson counts: a gamma distribution of the sum's own
// moments, and for the upper end those with one more event (Fay and Feuer, Statistics in Medicine
// 16, 1997). Theirs has the largest weight; an unseen one may be longer than all seen.
Reach reach_of(const Events& events) {
  if (!(events.sum > 0)) return {};
  const auto end = [](double mean, double variance, double z) {
    return variance / (2 * mean) * chi_squared(2 * mean * mean / variance, z);
  };
  const double unseen = kUnseen * events.longest;
  return {.below = events.sum - end(events.sum, events.squares, -kEndQuantile),
          .above = end(events.sum + unseen, events.squares + unseen * unseen, kEndQuantile) -
                   events.sum};
}

// The interval by the scatter of slots. Short runs have shorter slots, so that eight stretches
// of one length make an interval.
std::optional<Interval> interval_by_slots(std::span<const Stretch> stretches, const Stretch& all,
                                          double allowed_ns) {
  const double rate = all.amount / (all.ns / 1e9);
  std::vector<double> centred =
      slots_of(stretches, all.ns, std::min(kRateSlotNs, all.ns / kSlotsOfShortRun)).rates;
  for (double& slot : centred) slot -= rate;
  const double trend = trend_of_means(centred);
  const double half_width = mean_half_width(std::move(centred));
  if (std::isinf(half_width)) return std::nullopt;
  return over_allowed_time({.low = rate - half_width, .high = rate + half_width}, rate, trend,
                           allowed_ns / all.ns);
}

// The widest of both; no rate is below 0. Lost and won time are independent of each other.
std::optional<Interval> interval_of(std::span<const Stretch> stretches, const Stretch& all,
                                    const Delays& delays, double allowed_ns) {
  auto out = interval_by_slots(stretches, all, allowed_ns);
  if (!out) return out;
  const Reach late = reach_of(delays.late);
  const Reach early = reach_of(delays.early);
  const double moved = all.amount * 1e9;
  const double shortest_ns = all.ns - std::hypot(late.below, early.above);
  out->low =
      std::max(0.0, std::min(out->low, moved / (all.ns + std::hypot(late.above, early.below))));
  if (shortest_ns > 0) out->high = std::max(out->high, moved / shortest_ns);
  return out;
}

// The sums of all stretches.
Stretch sum_of(std::span<const Stretch> stretches) {
  Stretch all;
  for (const Stretch& stretch : stretches) {
    RG_CHECK(stretch.amount >= 0 && stretch.ns >= 0);
    all.amount += stretch.amount;
    all.ns += stretch.ns;
  }
  return all;
}

}  // namespace

RateFigures rate_figures(std::span<const Stretch> in_time_order, double allowed_ns) {
  RateFigures out;
  const Stretch all = sum_of(in_time_order);
  if (!(all.ns > 0)) return out;
  out.per_second = all.amount / (all.ns / 1e9);
  const Delays delays = delays_of(in_time_order);
  double pauses_ns = 0;
  for (const double ns : delays.pauses_ns) {
    pauses_ns += ns;
    out.longest_pause_ns = std::max(out.longest_pause_ns, ns);
  }
  out.pause_share = std::min(1.0, pauses_ns / all.ns);
  Slots slots = slots_of(in_time_order, all.ns, kRateSlotNs);
  out.slots = std::move(slots.rates);
  out.slot_ns = slots.ns;
  out.interval = interval_of(in_time_order, all, delays, allowed_ns);
  return out;
}

bool is_rate_precise(std::span<const Stretch> in_time_order, double share, double allowed_ns) {
  const Stretch all = sum_of(in_time_order);
  if (!(all.ns > 0)) return false;
  const auto interval = interval_of(in_time_order, all, delays_of(in_time_order), allowed_ns);
  return interval && is_within(*interval, all.amount / (all.ns / 1e9), share);
}

// A rate of 0 has no time of its own: the amount that did not move says nothing of it.
std::vector<Stretch> equal_amounts(std::span<const double> rates, double ns) {
  double inverse = 0;
  double still = 0;
  for (const double rate : rates) {
    RG_CHECK(rate >= 0);
    (rate > 0 ? inverse : still) += rate > 0 ? 1 / rate : 1;
  }
  const double mean_ns = ns / static_cast<double>(std::max<std::size_t>(1, rates.size()));
  const double moving_ns = ns - still * mean_ns;
  std::vector<Stretch> out;
  out.reserve(rates.size());
  // Each moves the same amount in its share of the time.
  for (const double rate : rates)
    out.push_back(rate > 0 ? Stretch{moving_ns / 1e9 / inverse, moving_ns / inverse / rate}
                           : Stretch{0, mean_ns});
  return out;
}

std::vector<Stretch> equal_units(std::span<const double> times, double ns) {
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  const double scale = sum > 0 && ns > 0 ? ns / sum : 1;
  std::vector<Stretch> out;
  out.reserve(times.size());
  for (const double time : times) out.push_back({1, scale * time});
  return out;
}

void set_rate(const RateFigures& figures, double precision, Point& point) {
  point.set_rate(figures.per_second);
  point.clear_rate_low();
  point.clear_rate_high();
  if (figures.interval) {
    point.set_rate_low(figures.interval->low);
    point.set_rate_high(figures.interval->high);
  }
  if (!figures.interval ||
      (precision > 0 && !is_within(*figures.interval, figures.per_second, precision)))
    point.set_converged(false);
  point.set_slot_ns(figures.slot_ns);
  point.set_longest_pause_ns(figures.longest_pause_ns);
  point.set_pause_share(figures.pause_share);
  point.clear_slot_p10();
  point.clear_slot_p1();
  std::vector<double> sorted = figures.slots;
  std::ranges::sort(sorted);
  constexpr double kP10 = 0.1;
  constexpr double kP1 = 0.01;
  if (sorted.size() >= samples_needed(1 - kP10)) point.set_slot_p10(quantile_sorted(sorted, kP10));
  if (sorted.size() >= samples_needed(1 - kP1)) point.set_slot_p1(quantile_sorted(sorted, kP1));
}

}  // namespace railgauge

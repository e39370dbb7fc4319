// The pace by a weighted median, the pauses by it, and the slots in one walk.
#include "kernels/core/stats/rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/dependence.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

// A value and how much it counts.
struct Weighted {
  double value = 0;
  double weight = 0;
};

// The value in the middle of all weight; 0 where there is none.
double weighted_median(std::vector<Weighted> all) {
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

// One pass: a run of late stretches is one pause.
void add_pauses(std::span<const Stretch> stretches, double total_ns, RateFigures& out) {
  const double pace = at_middle_unit(stretches, [](const Stretch& s) { return s.ns / s.amount; });
  double pauses_ns = 0;
  double late_ns = 0;
  const auto end_pause = [&] {
    if (late_ns >= kLeastPauseNs) {
      pauses_ns += late_ns;
      out.longest_pause_ns = std::max(out.longest_pause_ns, late_ns);
    }
    late_ns = 0;
  };
  for (const Stretch& stretch : stretches) {
    const double need_ns = stretch.amount * pace;
    if (stretch.ns - need_ns > kLateShare * need_ns)
      late_ns += stretch.ns - need_ns;
    else
      end_pause();
  }
  end_pause();
  out.pause_share = std::min(1.0, pauses_ns / total_ns);
}

// Divides all time into equal slots, and each stretch's amount among those that it touches.
void add_slots(std::span<const Stretch> stretches, double total_ns, RateFigures& out) {
  const double least_ns =
      std::max(kRateSlotNs, at_middle_unit(stretches, [](const Stretch& s) { return s.ns; }));
  const double count = std::max(1.0, std::floor(total_ns / least_ns));
  out.slot_ns = total_ns / count;
  out.slots.assign(static_cast<std::size_t>(count), 0);
  std::size_t slot = 0;
  double at = 0;
  for (const Stretch& stretch : stretches) {
    const double end = at + stretch.ns;
    double left = stretch.amount;
    for (; slot + 1 < out.slots.size(); ++slot) {
      const double slot_end = static_cast<double>(slot + 1) * out.slot_ns;
      if (end < slot_end) break;
      const double here =
          stretch.ns > 0 ? std::min(left, stretch.amount * (slot_end - at) / stretch.ns) : left;
      out.slots[slot] += here;
      left -= here;
      at = slot_end;
    }
    out.slots[slot] += left;
    at = end;
  }
  for (double& amount : out.slots) amount /= out.slot_ns / 1e9;
  std::vector<double> centred = out.slots;
  for (double& rate : centred) rate -= out.per_second;
  out.half_width = mean_half_width(std::move(centred));
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

RateFigures rate_figures(std::span<const Stretch> in_time_order) {
  RateFigures out;
  const Stretch all = sum_of(in_time_order);
  if (!(all.ns > 0)) return out;
  out.per_second = all.amount / (all.ns / 1e9);
  add_pauses(in_time_order, all.ns, out);
  add_slots(in_time_order, all.ns, out);
  return out;
}

bool is_rate_precise(std::span<const Stretch> in_time_order, double share) {
  RateFigures out;
  const Stretch all = sum_of(in_time_order);
  if (!(all.ns > 0)) return true;
  out.per_second = all.amount / (all.ns / 1e9);
  add_slots(in_time_order, all.ns, out);
  return std::isinf(out.half_width) || out.half_width <= share * out.per_second;
}

std::vector<Stretch> equal_amounts(std::span<const double> rates, double ns) {
  double inverse = 0;
  for (const double rate : rates) inverse += 1 / rate;
  std::vector<Stretch> out;
  out.reserve(rates.size());
  // Each moves the same amount in its share of the time.
  const double amount = ns / 1e9 / inverse;
  for (const double rate : rates) out.push_back({amount, ns / inverse / rate});
  return out;
}

void set_rate(const RateFigures& figures, double precision, Point& point) {
  point.set_rate(figures.per_second);
  point.clear_rate_low();
  point.clear_rate_high();
  if (std::isfinite(figures.half_width)) {
    point.set_rate_low(std::max(0.0, figures.per_second - figures.half_width));
    point.set_rate_high(figures.per_second + figures.half_width);
    if (precision > 0 && figures.half_width > precision * figures.per_second)
      point.set_converged(false);
  }
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

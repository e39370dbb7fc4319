#include "kernels/verbs/stream/bandwidth_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"

namespace railgauge::verbs {
namespace {

// The stop reason of slots.
constexpr std::string_view kByDuration = "duration";

// The measured stretches in the unit of a point: `factor` of it a message.
std::vector<Stretch> stretches_of(const Measured& measured, double factor) {
  std::vector<Stretch> out = measured.stretches;
  for (Stretch& stretch : out) stretch.amount *= factor;
  return out;
}

// A run by duration has no stop rule: it counts as converged where the interval of the median is
// narrow enough. `factor`: the point's unit of each message that arrived.
Point make_one(const Context& context, const PointNames& names, const Measured& measured,
               const PointForm& form, double factor) {
  Point point = make_verbs_point(names, form.message_bytes, measured.sampled, context.raw_samples);
  point.set_mean(factor * form.delivered * measured.writes / measured.seconds);
  if (measured.sampled.stop_reason == kByDuration && point.has_median_low())
    point.set_converged(point.median_high() - point.median_low() <=
                        2 * form.precision * point.median());
  set_rate(
      rate_figures(stretches_of(measured, factor * form.delivered), measured.sampled.allowed_ns()),
      form.precision, point);
  point.mutable_facts()->insert(measured.facts.begin(), measured.facts.end());
  return point;
}

// Returns into how many joined slots the slots are divided: each has kGroupsInSlot completions on
// average, and there are ten at least where there are as many slots.
std::size_t joined_slots(std::span<const double> slots, double writes, std::uint64_t group) {
  constexpr double kGroupsInSlot = 10;
  const double wanted = kGroupsInSlot * static_cast<double>(group);
  const auto count = static_cast<double>(slots.size());
  const double together = writes > 0 ? std::ceil(wanted * count / writes) : count;
  const double most = std::floor(std::clamp(together, 1.0, std::max(1.0, count / 10)));
  return std::max<std::size_t>(1, slots.size() / static_cast<std::size_t>(most));
}

}  // namespace

// The warm-up's windows become messages, as the fact of a point counts them.
Measured measured_by_windows(const TickClock& clock, Sampled sampled, std::span<const Window> kept,
                             std::uint64_t window_writes) {
  Measured measured;
  double ticks = 0;
  for (const Window& window : kept) {
    measured.writes += static_cast<double>(window.writes);
    ticks += static_cast<double>(window.ticks);
    measured.stretches.push_back({static_cast<double>(window.writes), clock.to_ns(window.ticks)});
  }
  measured.seconds = ticks * clock.ns_per_tick() / 1e9;
  measured.sampled = std::move(sampled);
  measured.sampled.warmup_count *= window_writes;
  measured.facts["window_writes"] = std::to_string(window_writes);
  measured.facts["mean_is"] = "all bytes over all time";
  return measured;
}

// The smallest slot shows a flapping link, which the median hides.
Measured measured_by_slots(std::span<const std::vector<std::uint32_t>> counts,
                           const SlotForm& form) {
  std::vector<double> slots(counts[0].size(), 0);
  for (const auto& of_rank : counts)
    for (std::size_t slot = 0; slot < slots.size(); ++slot) slots[slot] += of_rank[slot];
  Measured measured;
  for (const double writes : slots) measured.writes += writes;
  measured.seconds = form.slot_seconds * static_cast<double>(slots.size());
  const std::size_t joined = joined_slots(slots, measured.writes, form.group);
  std::vector<double>& samples = measured.sampled.samples;
  for (std::size_t i = 0; i < joined && !slots.empty(); ++i) {
    const auto edge = [&](std::size_t of) {
      return static_cast<std::ptrdiff_t>(of * slots.size() / joined);
    };
    const double writes =
        std::accumulate(slots.begin() + edge(i), slots.begin() + edge(i + 1), 0.0);
    const double seconds = form.slot_seconds * static_cast<double>(edge(i + 1) - edge(i));
    samples.push_back(static_cast<double>(form.message_bytes) * writes / seconds);
    measured.stretches.push_back({writes, seconds * 1e9});
  }
  measured.sampled.measure_ns = measured.seconds * 1e9;
  measured.sampled.stop_reason = kByDuration;
  // The samples keep their order in time, which the raw samples of a point show.
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  measured.facts["slot_ms"] =
      fmt::format("{:.0f}", measured.seconds / static_cast<double>(joined) * 1e3);
  measured.facts["smallest_slot_bytes_per_second"] = fmt::format("{:.0f}", sorted.front());
  measured.facts["mean_is"] = "all bytes over all time";
  return measured;
}

// One group is subtracted from the bound: its completion may belong to the time before the
// interval.
Direction add_direction(const std::string& name, const std::vector<std::uint32_t>& counts,
                        const SlotForm& form, std::map<std::string, std::string>& facts) {
  const Measured own = measured_by_slots(std::span(&counts, 1), form);
  const auto bytes = static_cast<double>(form.message_bytes);
  const double late = std::min(own.writes, static_cast<double>(form.group));
  facts[name + "_bytes_per_second"] = fmt::format("{:.0f}", bytes * own.writes / own.seconds);
  facts[name + "_smallest_slot_bytes_per_second"] = own.facts.at("smallest_slot_bytes_per_second");
  return {bytes * own.writes / own.seconds, bytes * (own.writes - late) / own.seconds};
}

// Two points from the same samples. The check takes the smaller of mean and median, so that one odd
// window voids nothing.
Result<std::vector<Point>> make_points(const Context& context, Measured measured,
                                       const PointForm& form) {
  const auto bytes = static_cast<double>(form.message_bytes);
  for (double& sample : measured.sampled.samples) sample *= form.delivered;
  measured.facts["clock_drift_ppm"] = fmt::format("{:.3f}", tick_clock(context).drift_ppm());
  measured.facts["line_rate_check"] =
      form.line_rate.waiver.empty() ? "held" : "waived: " + form.line_rate.waiver;
  std::vector<Point> points;
  points.push_back(make_one(context,
                            {.metric = kBandwidthMetric,
                             .meaning = form.meaning,
                             .unit = "bytes_per_second",
                             .larger_is_better = true},
                            measured, form, bytes));
  RG_TRY_OK(check_line_rate(form.line_rate.endpoint, form.line_rate.bits_per_second,
                            std::min(points[0].mean(), points[0].median()) / form.directions));
  for (const Direction& direction : form.each)
    RG_TRY_OK(check_line_rate(form.line_rate.endpoint, form.line_rate.bits_per_second,
                              direction.held_bytes_per_second));
  for (double& sample : measured.sampled.samples) sample /= bytes;
  points.push_back(make_one(context,
                            {.metric = "message_rate_per_second",
                             .meaning = form.meaning,
                             .unit = "per_second",
                             .larger_is_better = true},
                            measured, form, 1));
  return points;
}

}  // namespace railgauge::verbs

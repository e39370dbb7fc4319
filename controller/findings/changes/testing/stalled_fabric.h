// Bandwidth streams with pauses, as both judges read them. Synthetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/findings/changes/series_runs.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/testing/simulate.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/sampler.h"
#include "kernels/core/sampling.h"

namespace railgauge {

// Pauses of one length that come regularly and take a share of all time.
struct Stalls {
  double share = 0;
  double pause_ns = 20e6;
};

// A clock that a fake stream moves.
class StreamClock final : public Clock {
 public:
  [[nodiscard]] double now_ns() const override { return now_ns_; }
  void advance_ns(double ns) { now_ns_ += ns; }

 private:
  double now_ns_ = 1e15;
};

// The report of a launch of a bandwidth kernel on a fake stream of windows of about two
// milliseconds at 1 byte a second: the kernels' own sampler with the defaults of a bandwidth
// decides when it ends, and their own code makes the point. The first pause comes at any time.
inline Point sampled_launch(const Stalls& stalls, analysis::Chance& chance) {
  constexpr double kWindowNs = 2e6;
  constexpr double kScatter = 0.01;
  const SamplerOptions options{.min_samples = 30,
                               .max_samples = 10'000,
                               .relative_half_width = 0.01,
                               .time_cap_ns = 5e9,
                               .least_measure_ns = 2e9,
                               .rate = SamplerOptions::Rate::kOfRates};
  StreamClock clock;
  const double period =
      stalls.share > 0 ? stalls.pause_ns / stalls.share : std::numeric_limits<double>::infinity();
  double next = clock.now_ns() + (stalls.share > 0 ? period * chance.uniform() : period);
  const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
    for (; count > 0; --count) {
      double ns = kWindowNs * (1 + kScatter * chance.normal());
      for (; next < clock.now_ns() + ns; next += period) ns += stalls.pause_ns;
      clock.advance_ns(ns);
      out.push_back(kWindowNs / ns);
    }
    return {};
  };
  const Result<Sampled> sampled = Sampler(clock, options).run(batch);
  RG_CHECK(sampled);
  Point point = make_point({.metric = "bandwidth_bytes_per_second",
                            .meaning = "unidirectional",
                            .unit = "bytes_per_second",
                            .larger_is_better = true},
                           65536, *sampled, false, true);
  point.clear_histogram();
  return point;
}

// Launches of one kind, each sampled once: a process uses them again and again.
inline const std::vector<Point>& sampled_launches(const Stalls& stalls) {
  constexpr int kLaunches = 64;
  static std::map<std::pair<double, double>, std::vector<Point>> all;
  std::vector<Point>& launches = all[{stalls.share, stalls.pause_ns}];
  if (!launches.empty()) return launches;
  analysis::Chance chance(all.size());
  for (int i = 0; i < kLaunches; ++i) launches.push_back(sampled_launch(stalls, chance));
  return launches;
}

// Any of the launches, at `per_second`. Not thread safe.
inline Point stalled_launch(double per_second, const Stalls& stalls, analysis::Chance& chance) {
  const std::vector<Point>& launches = sampled_launches(stalls);
  const auto which =
      static_cast<std::size_t>(chance.uniform() * static_cast<double>(launches.size()));
  Point point = launches[std::min(which, launches.size() - 1)];
  point.set_median(point.median() * per_second);
  point.set_mean(point.mean() * per_second);
  point.set_rate(point.rate() * per_second);
  if (point.has_slot_p10()) point.set_slot_p10(point.slot_p10() * per_second);
  if (point.has_slot_p1()) point.set_slot_p1(point.slot_p1() * per_second);
  return point;
}

// The row that the store gives for a point.
inline store::SidePointRow side_row(const std::string& run, std::int64_t series,
                                    const Point& point) {
  store::SidePointRow row{.run_id = run,
                          .series = series,
                          .headline = headline_of(point),
                          .mean = point.mean(),
                          .synthetic = point.synthetic()};
  if (point.has_slot_p10()) row.slot_p10 = point.slot_p10();
  if (point.has_slot_p1()) row.slot_p1 = point.slot_p1();
  if (point.has_pause_share()) row.pause_share = point.pause_share();
  return row;
}

inline constexpr double kLevel = 12e9;         // bytes per second, of every node
inline constexpr double kLaunchNoise = 0.002;  // from launch to launch
inline constexpr int kStalledNodes = 16;       // the first half changed
inline constexpr int kStalledLaunches = 5;

// Both sides of an upgrade after which the first `stalled` nodes have pauses.
inline UpgradeData stalled_sides(int stalled, const Stalls& stalls, std::uint64_t seed) {
  analysis::Chance chance(seed);
  UpgradeData sides;
  sides.upgrade.upgrade_id = fmt::format("u{}", seed);
  sides.upgrade.runs = {{.run_id = "before"}, {.run_id = "after", .after = true}};
  for (int node = 0; node < kStalledNodes; ++node) {
    const std::string name = fmt::format("n{}", node);
    const bool changed = 2 * node < kStalledNodes;
    sides.upgrade.nodes.push_back({.node_id = name, .node = name, .changed = changed});
    sides.stacks[name].known = true;
    if (changed) sides.stacks[name].changes = {{"ofed", "5.8", "24.04"}};
    sides.tasks_before.push_back({.kernel = "verbs.write_bw",
                                  .nodes = {name},
                                  .endpoints = {"mlx5_0:1"},
                                  .outcome = "passed"});
    sides.series[node + 1] = {.series_id = node + 1,
                              .kernel = "verbs.write_bw",
                              .revision = 4,
                              .metric = "bandwidth_bytes_per_second",
                              .unit = "bytes_per_second",
                              .larger_is_better = true,
                              .message_bytes = 65536,
                              .endpoints = {name + "/mlx5_0:1"}};
    const auto measure = [&](const char* run, const Stalls& own) {
      return side_row(run, node + 1,
                      stalled_launch(kLevel * (1 + kLaunchNoise * chance.normal()), own, chance));
    };
    for (int launch = 0; launch < kStalledLaunches; ++launch) {
      sides.before.push_back(measure("before", {}));
      sides.after.push_back(measure("after", node < stalled ? stalls : Stalls{}));
    }
  }
  sides.tasks_after = sides.tasks_before;
  return sides;
}

inline constexpr int kStalledNights = 40;

// Nights of six nodes' local bandwidth, a launch each. From the night `from` on the first
// node has pauses.
inline std::vector<SeriesRuns> stalled_nights(int from, const Stalls& stalls, std::uint64_t seed) {
  constexpr int kNodesOfNights = 6;
  analysis::Chance chance(seed);
  std::vector<SeriesRuns> all;
  for (int node = 1; node <= kNodesOfNights; ++node) {
    SeriesRuns& one = all.emplace_back();
    one.series = {.series_id = node,
                  .kernel = "verbs.write_bw",
                  .revision = 4,
                  .metric = "bandwidth_bytes_per_second",
                  .unit = "bytes_per_second",
                  .larger_is_better = true,
                  .message_bytes = 65536,
                  .endpoints = {fmt::format("n{}/mlx5_0:1", node)}};
    for (int night = 0; night < kStalledNights; ++night)
      one.values.push_back(
          headline_of(stalled_launch(kLevel * (1 + kLaunchNoise * chance.normal()),
                                     node == 1 && night >= from ? stalls : Stalls{}, chance)));
  }
  return all;
}

}  // namespace railgauge

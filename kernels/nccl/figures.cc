// Makes points from samples, on rank 0 only, once a size.
#include "kernels/nccl/figures.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "kernels/core/sampling.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/stats/stats.h"

namespace railgauge::nccl {
namespace {

// Up to so many ranks each median is in the fact rank_median_ns.
constexpr std::size_t kMaxRanksNamed = 16;

// 0 for a rank without samples.
double median_of(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

// 0 for a rank without samples.
double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, values.size()));
}

// "0: 1234, 1: 1240"; of many ranks the lowest, the middle and the highest.
std::string medians_in_words(const std::vector<std::vector<double>>& by_rank_ns) {
  std::vector<double> medians;
  medians.reserve(by_rank_ns.size());
  for (const auto& samples : by_rank_ns) medians.push_back(median_of(samples));
  std::string words;
  if (medians.size() <= kMaxRanksNamed) {
    for (std::size_t rank = 0; rank < medians.size(); ++rank)
      words += fmt::format("{}{}: {:.0f}", words.empty() ? "" : ", ", rank, medians[rank]);
    return words;
  }
  std::ranges::sort(medians);
  return fmt::format("lowest {:.0f}, median {:.0f}, highest {:.0f} of {} ranks", medians.front(),
                     quantile_sorted(medians, 0.5), medians.back(), medians.size());
}

// Points of one kind of time.
void add_points(const Operation& operation, const Measured& measured, const Sampled& times,
                const std::string& meaning, std::vector<Point>& points) {
  const auto add = [&](const char* metric, const char* unit, bool larger, double scale) {
    Sampled sampled = times;
    for (double& sample : sampled.samples)
      if (larger) sample = scale / std::max(sample, 1.0);
    points.push_back(
        make_point({.metric = metric, .meaning = meaning, .unit = unit, .larger_is_better = larger},
                   measured.asked_bytes, sampled, measured.raw_samples, measured.synthetic));
  };
  const double rate = static_cast<double>(measured.moved_bytes) * 1e9;
  const double factor = operation.bus_factor(static_cast<double>(measured.ranks));
  if (measured.asked_bytes <= kLatencyUpToBytes) add("latency_ns", "ns", false, 1);
  add("algbw_bytes_per_second", "bytes_per_second", true, rate);
  if (measured.ranks > 1) add("busbw_bytes_per_second", "bytes_per_second", true, rate * factor);
}

}  // namespace

std::uint64_t share_of_size(const Operation& operation, std::uint64_t size_bytes,
                            std::uint64_t element_bytes, std::uint32_t ranks) {
  const std::uint64_t parts = operation.shared_out ? ranks : 1;
  return std::max<std::uint64_t>(1, size_bytes / element_bytes / parts);
}

std::uint64_t moved_bytes(const Operation& operation, const Share& share,
                          std::uint64_t element_bytes) {
  if (operation.moved_count != nullptr) return operation.moved_count(share) * element_bytes;
  return share.count * element_bytes * (operation.shared_out ? share.ranks : 1);
}

std::uint64_t shares_bytes(const Operation& operation, const Share& share,
                           std::uint64_t element_bytes) {
  const bool less = operation.shared_out && operation.moved_count != nullptr;
  return less ? share.count * element_bytes * share.ranks : 0;
}

// A collective ends when its last rank ends, so the slowest rank's time is the collective's. By the
// mean, in which a rank's pauses count.
std::size_t slowest_rank(const std::vector<std::vector<double>>& by_rank_ns) {
  std::size_t slowest = 0;
  double highest = -1;
  for (std::size_t rank = 0; rank < by_rank_ns.size(); ++rank)
    if (const double mean = mean_of(by_rank_ns[rank]); mean > highest) {
      highest = mean;
      slowest = rank;
    }
  return slowest;
}

// All ranks have the same number of samples.
std::vector<double> mean_over_ranks(const std::vector<std::vector<double>>& by_rank) {
  std::vector<double> means;
  if (by_rank.empty()) return means;
  for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
    double sum = 0;
    for (const auto& samples : by_rank) sum += samples[i];
    means.push_back(sum / static_cast<double>(by_rank.size()));
  }
  return means;
}

// Converged is judged anew where the slowest rank is not rank 0: the sampler saw rank 0's samples
// only.
std::vector<Point> points_of(const Operation& operation, const Measured& measured) {
  std::vector<Point> points;
  const std::size_t slowest = slowest_rank(measured.by_rank_ns);
  Sampled iterations = measured.sampled;
  iterations.samples = measured.by_rank_ns[slowest];
  if (slowest != 0)
    iterations.converged =
        iterations.converged &&
        is_precise(iterations.samples, iterations.allowed_count, measured.precision);
  add_points(operation, measured, iterations, "completion", points);
  if (measured.repeat > 1)
    for (Point& point : points)
      (*point.mutable_facts())["iterations_in_sample"] = std::to_string(measured.repeat);
  if (!measured.wall_by_rank_ns.empty() && !measured.wall_by_rank_ns.front().empty()) {
    Sampled wall;
    wall.samples = mean_over_ranks(measured.wall_by_rank_ns);
    wall.stop_reason = "iterations";
    wall.converged = is_precise(wall.samples, 0, measured.precision);
    for (const double sample : wall.samples)
      wall.measure_ns += sample * static_cast<double>(measured.wall_iterations);
    const std::size_t first = points.size();
    add_points(operation, measured, wall, "aggregate_wall", points);
    for (std::size_t i = first; i < points.size(); ++i)
      (*points[i].mutable_facts())["iterations_in_sample"] =
          std::to_string(measured.wall_iterations);
  }
  for (Point& point : points) {
    auto& facts = *point.mutable_facts();
    facts["slowest_rank"] = std::to_string(slowest);
    facts["rank_median_ns"] = medians_in_words(measured.by_rank_ns);
    // A size that the ranks or the type do not divide is rounded down.
    if (measured.moved_bytes != measured.asked_bytes)
      facts["moved_bytes"] = std::to_string(measured.moved_bytes);
    if (measured.shares_bytes != 0) facts["shares_bytes"] = std::to_string(measured.shares_bytes);
    if (measured.verified) {
      facts["proved_messages"] = std::to_string(measured.proved_messages);
      facts["proved_bytes"] = std::to_string(measured.proved_bytes);
    }
    point.set_verified(measured.verified);
  }
  return points;
}

}  // namespace railgauge::nccl

// From the samples of all ranks to the points that rank 0 reports. Pure: times are in ns,
// bandwidths in bytes a second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/sampler.h"
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {

// Latency is reported for sizes up to this; above it repeats the bandwidth.
inline constexpr std::uint64_t kLatencyUpToBytes = 1U << 20U;

// One size, measured on all ranks.
struct Measured {
  // The size as the parameter has it.
  std::uint64_t asked_bytes = 0;
  // S of algbw = S/t: what was really moved.
  std::uint64_t moved_bytes = 0;
  std::uint32_t ranks = 1;
  // How the sampling went; its samples are rank 0's.
  Sampled sampled;
  // By rank: the time of each iteration, in ns.
  std::vector<std::vector<double>> by_rank_ns;
  std::vector<std::vector<double>> wall_by_rank_ns;
  double precision = 0.01;
  // Iterations whose mean is a sample.
  std::uint64_t repeat = 1;
  std::uint64_t wall_iterations = 0;
  bool verified = false;
  bool raw_samples = false;
  bool synthetic = false;
};

// Elements of a share of a size; at least one.
std::uint64_t share_of_size(const Operation& operation, std::uint64_t size_bytes,
                            std::uint64_t element_bytes, std::uint32_t ranks);
// S of one call with such shares.
std::uint64_t moved_bytes(const Operation& operation, std::uint64_t count,
                          std::uint64_t element_bytes, std::uint32_t ranks);

// The rank with the highest median; the first of several.
std::size_t slowest_rank(const std::vector<std::vector<double>>& by_rank_ns);
// Each iteration's mean over the ranks, as nccl-tests averages.
std::vector<double> mean_over_ranks(const std::vector<std::vector<double>>& by_rank);

// latency_ns (small sizes), algbw_bytes_per_second and, of more than one rank,
// busbw_bytes_per_second: the slowest rank's iterations, meaning `completion`; then the same of the
// aggregate, meaning `aggregate_wall`. Facts: slowest_rank, rank_median_ns, moved_bytes where it is
// not the size asked for.
std::vector<Point> points_of(const Operation& operation, const Measured& measured);

}  // namespace railgauge::nccl

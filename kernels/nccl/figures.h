// Makes the points that rank 0 reports from the samples of all ranks. Pure: times are in ns,
// bandwidths in bytes per second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/sampler.h"
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {

// Largest size with a latency; above it the latency would repeat the bandwidth.
inline constexpr std::uint64_t kLatencyUpToBytes = 1U << 20U;

// One size, measured on all ranks.
struct Measured {
  // The size in the parameter.
  std::uint64_t asked_bytes = 0;
  // The S of algbw = S/t: bytes actually moved.
  std::uint64_t moved_bytes = 0;
  // Shares of all ranks, where the S of algbw is without a rank's own; 0 elsewhere.
  std::uint64_t shares_bytes = 0;
  std::uint32_t ranks = 1;
  // The sampler's result; its samples are rank 0's.
  Sampled sampled;
  // By rank: the time of each iteration, in ns.
  std::vector<std::vector<double>> by_rank_ns;
  std::vector<std::vector<double>> wall_by_rank_ns;
  double precision = 0.01;
  // Iterations whose mean is one sample.
  std::uint64_t repeat = 1;
  std::uint64_t wall_iterations = 0;
  // Calls whose every result was compared after the timed part, and the bytes of all ranks'
  // results.
  std::uint64_t proved_messages = 0;
  std::uint64_t proved_bytes = 0;
  bool verified = false;
  bool raw_samples = false;
  bool synthetic = false;
};

// Returns the elements of a share for a size; at least one.
std::uint64_t share_of_size(const Operation& operation, std::uint64_t size_bytes,
                            std::uint64_t element_bytes, std::uint32_t ranks);
// Returns the S of one call with such a share, in bytes.
std::uint64_t moved_bytes(const Operation& operation, const Share& share,
                          std::uint64_t element_bytes);
// Returns the bytes of all ranks' shares where S is less, as in a hypercube; 0 in other operations.
std::uint64_t shares_bytes(const Operation& operation, const Share& share,
                           std::uint64_t element_bytes);

// Returns the rank with the highest median; the lowest of several.
std::size_t slowest_rank(const std::vector<std::vector<double>>& by_rank_ns);
// Returns each iteration's mean over the ranks, as nccl-tests averages.
std::vector<double> mean_over_ranks(const std::vector<std::vector<double>>& by_rank);

// Makes latency_ns (small sizes), algbw_bytes_per_second and, with several ranks,
// busbw_bytes_per_second: from the slowest rank's iterations, meaning `completion`; then from the
// aggregate, meaning `aggregate_wall`. Facts: slowest_rank, rank_median_ns, moved_bytes when it
// differs from the requested size, and shares_bytes where it differs from moved_bytes.
std::vector<Point> points_of(const Operation& operation, const Measured& measured);

}  // namespace railgauge::nccl

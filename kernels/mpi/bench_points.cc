// From the samples of an MPI task to its points.
#include <fmt/format.h>

#include "kernels/dl/cuda.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/far_ranks.h"

namespace railgauge::mpi {
namespace {

constexpr std::size_t kMostRankPoints = 64;  // ranks of which a distribution is kept

PointNames names_of(const Operation& operation) {
  const std::string meaning(operation.meaning);
  if (operation.figure == Figure::kLatency)
    return {.metric = "latency_ns", .meaning = meaning, .unit = "ns"};
  if (operation.figure == Figure::kRate)
    return {.metric = "message_rate_per_second",
            .meaning = meaning,
            .unit = "per_second",
            .larger_is_better = true};
  return {.metric = "bandwidth_bytes_per_second",
          .meaning = meaning,
          .unit = "bytes_per_second",
          .larger_is_better = true};
}

}  // namespace

void Bench::report(Context& context, std::size_t size_index, Sampled sampled,
                   std::uint64_t skipped) {
  sampled.warmup_count += skipped;
  const bool synthetic = on_gpu() && loaded_cuda().synthetic;
  Point point = make_point(names_of(operation_), share_of(size_index).bytes, sampled,
                           context.raw_samples, synthetic);
  point.set_verified(verify_);
  (*point.mutable_facts())["clock_drift_ppm"] =
      fmt::format("{:.3f}", tick_clock(context).drift_ppm());
  std::vector<std::uint32_t> kept;
  if (operation_.timed == Timed::kAll) {
    kept = far_ranks(by_rank_ns_, kMostRankPoints);
    if (kept.size() < ranks_)
      (*point.mutable_facts())["rank_distributions"] = fmt::format(
          "{} of {} ranks: those with the longest and the shortest medians", kept.size(), ranks_);
  }
  context.reporter.point(std::move(point));
  report_ranks(context, size_index, sampled, kept);
}

// Each of these ranks' own times: which of them is slow, and how they spread.
void Bench::report_ranks(Context& context, std::size_t size_index, const Sampled& sampled,
                         std::span<const std::uint32_t> ranks) {
  for (const std::uint32_t rank : ranks) {
    Sampled own = sampled;
    own.samples = std::move(by_rank_ns_[rank]);
    Point point = make_point(names_of(operation_), share_of(size_index).bytes, own,
                             context.raw_samples, on_gpu() && loaded_cuda().synthetic);
    point.set_pair(fmt::format("rank{}", rank));
    point.set_verified(verify_);
    context.reporter.point(std::move(point));
  }
}

}  // namespace railgauge::mpi

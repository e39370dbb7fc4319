// The path that the messages of a size really took: the devices whose counters grew by them, and
// for GPU memory the comparison with a twin that is copied through host memory. Nothing here
// repeats a setting.
#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/core/stats/quantile.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/ceiling.h"
#include "kernels/mpi/path/gpu_path.h"

namespace railgauge::mpi {
namespace {

// The twin has a tenth of the samples of its figure: it takes longer, and need not be as exact.
constexpr std::size_t kTwinPart = 10;
constexpr std::size_t kLeastTwin = 5;
constexpr std::size_t kMostTwin = 200;

// The bytes that a rank receives in one sample; a place of a window gets several messages in turn.
double received_in_a_sample(const Operation& operation, const Share& share) {
  double bytes = 0;
  for (const Segment& segment : operation.received(share))
    bytes += static_cast<double>(segment.bytes);
  if (!operation.windowed) return bytes;
  return bytes * static_cast<double>(share.window) / static_cast<double>(share.places());
}

}  // namespace

// Right behind the last kept sample. Rank 0 gathers over MPI, as all orders travel.
void Bench::gather_traffic(std::size_t size_index) {
  RankTraffic mine = own_place();
  mine.sent = grown(traffic_before_, traffic_.read());
  mine.wires = traffic_.used(counts_before_, traffic_.counts());
  mine.received_bytes =
      static_cast<double>(played_) * received_in_a_sample(operation_, share_of(size_index));
  ranks_traffic_.resize(rank_ == 0 ? ranks_ : 0);
  mpi_->gather(&mine, sizeof mine, ranks_traffic_.data(), 0);
  path_facts_.clear();
  if (rank_ != 0) return;
  Transport found = transport_of(ranks_traffic_, static_cast<double>(played_));
  transport_ = found.observed;
  path_facts_["transport_observed"] = std::move(found.observed);
  path_facts_["transport_evidence"] = std::move(found.evidence);
}

// The slowest rank's time where several count: each of them saw a part of the messages. The mean
// over all samples where it is above the middle: a short sample may have taken the bytes of the one
// before.
double Bench::sample_ns(std::size_t size_index, const Sampled& sampled) const {
  std::vector<double> times;
  for (std::size_t i = 0; i < sampled.samples.size(); ++i) {
    double ns = 0;
    if (operation_.timed != Timed::kFirst)
      for (const auto& own : by_rank_ns_) ns = std::max(ns, i < own.size() ? own[i] : 0);
    else if (operation_.figure == Figure::kLatency)
      ns = sampled.samples[i];
    else
      ns = value(1, size_index) / sampled.samples[i];
    times.push_back(ns);
  }
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(1, times.size()));
  return std::max(mean, upper_median(times));
}

// Ranks leave the barrier before a collective apart, so that none of them times the whole of it: a
// share a little above 1 is no fault there.
Status Bench::add_ceiling(std::size_t size_index, const Sampled& sampled) {
  constexpr double kTolerance = 1.01;  // as of the other families' line rates
  const WireCeiling found = wire_ceiling(operation_, share_of(size_index), transport_,
                                         ranks_traffic_, sample_ns(size_index, sampled));
  if (!found.ceiling) {
    path_facts_["ceiling"] = "none: " + found.none;
    return {};
  }
  gpu::add_ceiling_facts(*found.ceiling, found.passed, path_facts_);
  const bool is_whole = operation_.timed == Timed::kFirst;
  if (!is_whole || found.passed <= kTolerance * found.ceiling->bytes_per_second) return {};
  return gpu::check_ceiling(std::string(operation_.name), found.ceiling, found.passed);
}

// Also measures the copy, where staging begins: the buffers hold nothing that is needed then.
Status Bench::stage(const TickClock& clock, std::size_t size_index, bool staged) {
  if (staged) {
    const std::uint64_t bytes = share_of(size_index).bytes;
    double mine = send_.least_copy_ns(bytes, clock);
    if (mine <= 0) mine = receive_.least_copy_ns(bytes, clock);
    std::vector<double> all(rank_ == 0 ? ranks_ : 0);
    mpi_->gather(&mine, sizeof mine, all.data(), 0);
    copy_ns_ = 0;
    for (const double ns : all)
      if (ns > 0) copy_ns_ = copy_ns_ > 0 ? std::min(copy_ns_, ns) : ns;
  }
  move_to(0);
  send_.set_staged(staged);
  receive_.set_staged(staged);
  target_staged_ = staged && target_on_gpu_;
  if (operation_.exposed == Exposed::kNothing) return {};
  mpi_->unexpose();
  return expose_memory();
}

// The middle of the samples as the time of one message of one direction and one pair.
double Bench::message_ns(const std::vector<double>& values, std::size_t size_index) const {
  const double middle = upper_median(values);
  if (operation_.figure == Figure::kLatency) return middle;
  if (middle <= 0) return 0;
  if (operation_.figure == Figure::kRate) return many() / middle * 1e9;
  return static_cast<double>(sizes_[size_index]) * operation_.ways * many() / middle * 1e9;
}

// With messages that the kernel itself stages there is nothing to find out.
Status Bench::measure_twin(Context& context, std::size_t size_index, const Sampled& direct) {
  if (!any_gpu_) return {};
  if (staged_) {
    path_facts_["gpu_path_observed"] = "staged";
    path_facts_["gpu_path_evidence"] = "this kernel copies each message around the MPI's call";
    return {};
  }
  if (!operation_.stages) {
    path_facts_["gpu_path_observed"] = "unknown";
    path_facts_["gpu_path_evidence"] = "these calls have no staged twin";
    return {};
  }
  const TickClock& clock = tick_clock(context);
  send_order(Act::kStage, size_index, 1);
  RG_TRY_OK(stage(clock, size_index, true));
  // The twin's times are none of the figure's.
  auto kept = std::exchange(by_rank_ns_, std::vector<std::vector<double>>(ranks_));
  std::vector<double> values;
  RG_TRY_OK(batch(context, size_index, 1, values));
  values.clear();
  RG_TRY_OK(batch(context, size_index,
                  std::clamp(direct.samples.size() / kTwinPart, kLeastTwin, kMostTwin), values));
  by_rank_ns_ = std::move(kept);
  send_order(Act::kStage, size_index, 0);
  RG_TRY_OK(stage(clock, size_index, false));
  GpuPath found = gpu_path_of({.message_bytes = share_of(size_index).bytes,
                               .direct_ns = message_ns(direct.samples, size_index),
                               .staged_ns = message_ns(values, size_index),
                               .copy_ns = copy_ns_});
  path_facts_["gpu_path_observed"] = std::move(found.observed);
  path_facts_["gpu_path_evidence"] = std::move(found.evidence);
  return {};
}

}  // namespace railgauge::mpi

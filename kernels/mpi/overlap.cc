// How much of a non-blocking collective a computation beside it hides, by OSU's method: each call
// is begun, the rank computes for as long as the call takes alone, and waits for its end. The rest
// of the time is what the computation did not hide.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "kernels/dl/cuda.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/data.h"
#include "kernels/mpi/info.h"

namespace railgauge::mpi {
namespace {

constexpr std::size_t kLeastCalls = 10;
constexpr std::size_t kMostCalls = 5'000;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, values.size()));
}

}  // namespace

// The clock converts ticks to time, so the other way is taken from a round number of them.
void Bench::set_compute(const TickClock& clock, std::uint64_t ns) {
  const double ticks_of_a_ns = 1e6 / clock.to_ns(1'000'000);
  compute_ticks_ = static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_of_a_ns);
}

// Behind every batch, outside of its samples.
void Bench::gather_computed(double mine_ns) {
  std::vector<double> all(rank_ == 0 ? ranks_ : 0);
  mpi_->gather(&mine_ns, sizeof mine_ns, all.data(), 0);
  if (rank_ == 0) computed_ns_ += mean_of(all);
}

// The computation of every call is as long as the mean of the figure, as OSU's programs have it; a
// library without a thread of its own makes progress only where `polls` asks it to. As many calls
// as the figure has, within bounds, behind one batch that counts for nothing. Their data is
// compared as that of the figure is. The times of the ranks are none of the figure's.
Status Bench::measure_overlap(Context& context, std::size_t size_index, const Sampled& pure) {
  if (operation_.what == Collective::kNone || form_ != Form::kNonBlocking) return {};
  const double pure_ns = mean_of(pure.samples);
  const auto compute_ns = static_cast<std::uint64_t>(std::max(pure_ns, 1.0));
  auto kept = std::exchange(by_rank_ns_, std::vector<std::vector<double>>(ranks_));
  send_order(Act::kCompute, size_index, compute_ns);
  set_compute(tick_clock(context), compute_ns);
  send_order(Act::kBegin, size_index, kTimedCalls);
  begin(size_index, kTimedCalls);
  const std::uint64_t most = std::max<std::uint64_t>(options_.batch, 1);
  Sampled beside;
  Status measured = batch(context, size_index, most, beside.samples);
  beside.samples.clear();
  computed_ns_ = 0;
  const std::size_t wanted = std::clamp(pure.samples.size(), kLeastCalls, kMostCalls);
  while (measured && beside.samples.size() < wanted)
    measured =
        batch(context, size_index, std::min(most, wanted - beside.samples.size()), beside.samples);
  by_rank_ns_ = std::move(kept);
  RG_TRY_OK(measured);
  send_order(Act::kVerify, size_index);
  RG_TRY_OK(verify(size_index));
  const double exposed_ns = mean_of(beside.samples);
  const double computed_ns = computed_ns_ / static_cast<double>(beside.samples.size());
  path_facts_["overall_ns"] = fmt::format("{:.1f}", computed_ns + exposed_ns);
  path_facts_["compute_ns"] = fmt::format("{:.1f}", computed_ns);
  path_facts_["overlap_percent"] =
      fmt::format("{:.1f}", std::max(0.0, 100 - exposed_ns / std::max(pure_ns, 1.0) * 100));
  beside.stop_reason = pure.stop_reason;
  exposed_ = make_point({.metric = kExposedMetric, .meaning = "not_hidden", .unit = "ns"},
                        share_of(size_index).bytes, beside, context.raw_samples,
                        on_gpu() && loaded_cuda().synthetic);
  return {};
}

// The proof had the computation beside its calls too.
void Bench::finish_overlap(Context& context, std::size_t size_index) {
  if (!exposed_) return;
  send_order(Act::kCompute, size_index, 0);
  set_compute(tick_clock(context), 0);
  exposed_->set_verified(verify_ && proved_bytes_ > 0);
}

}  // namespace railgauge::mpi

// Rounds of queued copies, timed by the host from the first submission to the stream's end.
#include "kernels/bar/routine/engine_rate.h"

#include <algorithm>
#include <vector>

#include "kernels/core/stats/stats.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::bar {
namespace {

constexpr int kEngineRounds = 7;
// Bytes of a round: the submissions and the wait at its end are a small part of its time.
constexpr std::uint64_t kRoundBytes = 16U << 20U;
// Copies of a round at most.
constexpr std::uint64_t kMostCopies = 256;
// CU_STREAM_NON_BLOCKING: not ordered behind the default stream.
constexpr unsigned kNonBlocking = 1;

}  // namespace

// The first round warms up.
Result<double> engine_rate(const gpu::Gpu& gpu, const View& view, std::uint64_t bytes, bool writes,
                           const TickClock& clock) {
  const Cuda& cuda = loaded_cuda();
  const PinnedBuffer host =
      RG_TRY(gpu::on_gpu(gpu, PinnedBuffer::allocate(bytes, PinnedKind::kPinned)));
  cu::Stream made = nullptr;
  RG_TRY_OK(gpu_status(gpu, cuda.stream_create(&made, kNonBlocking), "create a stream"));
  const gpu::Stream stream(made);
  const std::uint64_t copies = std::clamp<std::uint64_t>(kRoundBytes / bytes, 1, kMostCopies);
  const cu::DevicePtr to = writes ? view.gpu : host.device_pointer();
  const cu::DevicePtr from = writes ? host.device_pointer() : view.gpu;
  std::vector<double> rates;
  for (int round = 0; round <= kEngineRounds; ++round) {
    const std::uint64_t begin = clock.ticks();
    for (std::uint64_t i = 0; i < copies; ++i)
      RG_TRY_OK(gpu_status(gpu, cuda.memcpy_async(to, from, bytes, stream.get()),
                           "copy by its engine for comparison"));
    RG_TRY_OK(gpu_status(gpu, cuda.stream_synchronize(stream.get()),
                         "copy by its engine for comparison"));
    const double spent_ns = std::max(1.0, clock.to_ns(clock.ticks() - begin));
    if (round > 0) rates.push_back(static_cast<double>(copies * bytes) / spent_ns * 1e9);
  }
  std::ranges::sort(rates);
  return quantile_sorted(rates, 0.5);
}

}  // namespace railgauge::bar

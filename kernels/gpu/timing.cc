// Makes and awaits events, and operates the gate.
#include "kernels/gpu/timing.h"

#include <time.h>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge::gpu {
namespace {

// wait_for() polls for 2 ms, then sleeps 50 us between two polls: a long copy must not heat a core.
constexpr double kSpinNs = 2e6;
constexpr long kNapNs = 50'000;

// The gate's word, in pinned memory that the GPU reads.
std::uint32_t& word_of(const PinnedBuffer& buffer) {
  return *reinterpret_cast<std::uint32_t*>(buffer.data());
}

// From CUDA 11.7 on the driver has the operations by default (their second form); before, only with
// a parameter of the module.
constexpr int kMemOpsByDefault = 11'070;

}  // namespace

// A stream that does not wait for the default stream, on which the pattern's kernels run.
Result<Stream> make_stream(const Gpu& gpu) {
  cu::Stream raw = nullptr;
  RG_TRY_OK(
      gpu_status(gpu, loaded_cuda().stream_create(&raw, cu::kStreamNonBlocking), "make a stream"));
  return Stream(raw);
}

Result<Event> make_event(const Gpu& gpu) {
  cu::Event raw = nullptr;
  RG_TRY_OK(gpu_status(gpu, loaded_cuda().event_create(&raw, cu::kEventDefault), "make an event"));
  return Event(raw);
}

// A GPU that hangs keeps the event not ready; only the deadline ends the wait.
Status wait_for(const Gpu& gpu, const Event& event, double deadline_monotonic_ns,
                std::string_view act) {
  const Cuda& cuda = loaded_cuda();
  const double begin_ns = monotonic_now_ns();
  while (true) {
    const cu::Return returned = cuda.event_query(event.get());
    if (returned != cu::kNotReady) return gpu_status(gpu, returned, act);
    const double now_ns = monotonic_now_ns();
    if (now_ns >= deadline_monotonic_ns)
      return fail(
          Code::kDeadlineExceeded,
          fmt::format("{}: {}: not done at the task's deadline, {:.1f} s after it was queued",
                      gpu.name(), act, (now_ns - begin_ns) / 1e9));
    if (now_ns - begin_ns < kSpinNs) continue;
    const timespec nap{.tv_sec = 0, .tv_nsec = kNapNs};
    nanosleep(&nap, nullptr);
  }
}

// The word begins at 0, which is below every generation that a hold waits for.
Result<StreamGate> StreamGate::create(const Gpu& gpu) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.stream_wait_value32 == nullptr && cuda.stream_wait_value32_v1 == nullptr)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: hold a stream: driver {} (CUDA {}) has no stream memory operations; "
                    "drivers of CUDA 11.7 and later have them, from CUDA 8.0 on with the module "
                    "option NVreg_EnableStreamMemOPs=1",
                    gpu.name(), cuda.version, cuda_release(cuda.driver_version)));
  PinnedBuffer word =
      RG_TRY(on_gpu(gpu, PinnedBuffer::allocate(sizeof(std::uint32_t), PinnedKind::kPinned)));
  word_of(word) = 0;
  return StreamGate(std::move(word));
}

// The condition is >=, so a release that comes late still opens older holds.
Status StreamGate::hold(const Gpu& gpu, cu::Stream stream) {
  const Cuda& cuda = loaded_cuda();
  const auto wait =
      cuda.stream_wait_value32 != nullptr ? cuda.stream_wait_value32 : cuda.stream_wait_value32_v1;
  const cu::Return returned =
      wait(stream, word_.device_pointer(), generation_ + 1, cu::kWaitValueGeq);
  if (returned == cu::kNotSupported && cuda.driver_version < kMemOpsByDefault)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: hold a stream: stream memory operations are off, as driver {} (CUDA {}) "
                    "has them by default; load the module nvidia with NVreg_EnableStreamMemOPs=1, "
                    "or install a driver of CUDA 11.7 or later",
                    gpu.name(), cuda.version, cuda_release(cuda.driver_version)));
  return gpu_status(gpu, returned, "hold a stream");
}

// Every waiting stream polls the word over PCIe, so one store opens all of them.
void StreamGate::release() {
  if (word_.data() == nullptr) return;  // moved from
  std::atomic_ref(word_of(word_)).store(++generation_, std::memory_order_release);
}

}  // namespace railgauge::gpu

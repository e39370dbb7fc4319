#include "kernels/gpu/timing.h"

#include <time.h>

#include <fmt/format.h>

#include "kernels/core/clock.h"

namespace railgauge::gpu {
namespace {

constexpr double kSpinNs = 2e6;
constexpr long kNapNs = 50'000;

std::uint32_t& word_of(const PinnedBuffer& buffer) {
  return *reinterpret_cast<std::uint32_t*>(buffer.data());
}

}  // namespace

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

Result<StreamGate> StreamGate::create(const Gpu& gpu) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.stream_wait_value32 == nullptr && cuda.stream_wait_value32_v1 == nullptr)
    return fail(
        Code::kUnimplemented,
        fmt::format("{}: hold a stream: driver {} has no stream memory operations; CUDA 8.0 "
                    "and later drivers have them",
                    gpu.name(), cuda.version));
  PinnedBuffer word = RG_TRY(PinnedBuffer::allocate(sizeof(std::uint32_t), PinnedKind::kPinned));
  word_of(word) = 0;
  return StreamGate(std::move(word));
}

Status StreamGate::hold(const Gpu& gpu, cu::Stream stream) {
  const Cuda& cuda = loaded_cuda();
  const auto wait =
      cuda.stream_wait_value32 != nullptr ? cuda.stream_wait_value32 : cuda.stream_wait_value32_v1;
  return gpu_status(gpu, wait(stream, word_.device_pointer(), generation_ + 1, cu::kWaitValueGeq),
                    "hold a stream");
}

void StreamGate::release() {
  if (word_.data() == nullptr) return;  // moved from
  std::atomic_ref(word_of(word_)).store(++generation_, std::memory_order_release);
}

Result<EventTimer> EventTimer::create(const Gpu& gpu) {
  EventTimer timer(gpu, RG_TRY(StreamGate::create(gpu)));
  timer.stream_ = RG_TRY(make_stream(gpu));
  for (std::uint64_t i = 0; i <= kMaxQueued; ++i) timer.events_.push_back(RG_TRY(make_event(gpu)));
  return timer;
}

Status EventTimer::queue(const Batch& batch, const Enqueue& enqueue) {
  const Cuda& cuda = loaded_cuda();
  RG_TRY_OK(gate_.hold(*gpu_, stream_.get()));
  RG_TRY_OK(gpu_status(*gpu_, cuda.event_record(events_[0].get(), stream_.get()), "stamp"));
  for (std::uint64_t sample = 0; sample < batch.samples; ++sample) {
    for (std::uint64_t i = 0; i < batch.repeat; ++i) RG_TRY_OK(enqueue(stream_.get()));
    RG_TRY_OK(
        gpu_status(*gpu_, cuda.event_record(events_[sample + 1].get(), stream_.get()), "stamp"));
  }
  return {};
}

Status EventTimer::run(const Batch& batch, const Enqueue& enqueue, std::vector<double>& out_ns) {
  RG_CHECK(batch.samples > 0 && batch.repeat > 0 && batch.samples * batch.repeat <= kMaxQueued);
  const Status queued = queue(batch, enqueue);
  gate_.release();  // also after an error: what was queued must end
  RG_TRY_OK(queued);
  RG_TRY_OK(wait_for(*gpu_, events_[batch.samples], batch.deadline_monotonic_ns, "measure"));
  for (std::uint64_t sample = 0; sample < batch.samples; ++sample) {
    float milliseconds = 0;
    RG_TRY_OK(gpu_status(*gpu_,
                         loaded_cuda().event_elapsed_time(&milliseconds, events_[sample].get(),
                                                          events_[sample + 1].get()),
                         "read the stamps"));
    out_ns.push_back(static_cast<double>(milliseconds) * 1e6 / static_cast<double>(batch.repeat));
  }
  return {};
}

}  // namespace railgauge::gpu

#include "kernels/verbs/answering_gpu.h"

#include <atomic>
#include <cstring>

#include "kernels/core/clock.h"
#include "kernels/gpu/timing.h"

namespace railgauge::gpu {
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu

namespace railgauge::verbs {
namespace {

constexpr std::size_t kLineBytes = 128;                    // the answer and the stop word are apart
constexpr unsigned long long kIdleCycles = 4'000'000'000;  // about 2 s of a GPU's clock
constexpr double kEndNs = 10e9;  // for the kernel's end after its stop word: more than kIdleCycles

void store(std::byte* word, std::uint32_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(value, std::memory_order_release);
}

}  // namespace

Result<AnsweringGpu> AnsweringGpu::create(const gpu::Gpu& gpu) {
  AnsweringGpu made(gpu);
  made.code_ = RG_TRY(gpu::LoadedCode::load(gpu, gpu::kFlagAnswerCode));
  made.function_ = RG_TRY(made.code_->function("railgauge_answer_flags"));
  made.words_ = RG_TRY(PinnedBuffer::allocate(2 * kLineBytes, PinnedKind::kPinned));
  std::memset(made.words_.data(), 0, made.words_.size());
  made.stream_ = RG_TRY(gpu::make_stream(gpu));
  made.ended_ = RG_TRY(gpu::make_event(gpu));
  return made;
}

const std::uint8_t* AnsweringGpu::answer() const {
  return reinterpret_cast<const std::uint8_t*>(words_.data());  // the CPUs here are little-endian
}

Status AnsweringGpu::begin(cu::DevicePtr flag, std::uint32_t first, std::uint32_t rounds) {
  RG_CHECK(!runs_);
  const Cuda& cuda = loaded_cuda();
  cu::DevicePtr answer_at = words_.device_pointer();
  cu::DevicePtr stop_at = words_.device_pointer() + kLineBytes;
  unsigned long long idle_cycles = kIdleCycles;
  store(words_.data() + kLineBytes, 0);
  runs_ = true;  // half a launch may run
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&flag, &answer_at, &stop_at, &first, &rounds, &idle_cycles};
  RG_TRY_OK(gpu_status(
      *gpu_, cuda.launch_kernel(function_, 1, 1, 1, 1, 1, 1, 0, stream_.get(), arguments, nullptr),
      "launch the kernel that answers flags"));
  return gpu_status(*gpu_, cuda.event_record(ended_.get(), stream_.get()),
                    "mark the end of the kernel that answers flags");
}

Status AnsweringGpu::end() {
  if (!runs_) return {};
  runs_ = false;
  store(words_.data() + kLineBytes, 1);
  const Status ended = gpu::wait_for(*gpu_, ended_, monotonic_now_ns() + kEndNs,
                                     "end the kernel that answers flags");
  // The event may not have been recorded: then the stream tells.
  static_cast<void>(loaded_cuda().stream_synchronize(stream_.get()));
  return ended;
}

}  // namespace railgauge::verbs

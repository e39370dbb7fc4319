#include "kernels/gpu/answering_gpu.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/core/base/clock.h"
#include "kernels/gpu/timing.h"

namespace railgauge::gpu {

extern const DeviceCode kFlagAnswerCode;

namespace {

// The words do not share a line of the GPU's cache.
constexpr std::size_t kLineBytes = 128;
// The time that the kernel waits for a value: above the stall limit at any GPU's clock, so that the
// CPU, which can name the reason, gives up first. A stop word that never comes is the reason for a
// bound.
constexpr double kCyclesPerNs = 3;
constexpr double kMinIdleNs = 1.5e9;
constexpr double kMaxIdleNs = 100e9;
constexpr double kEndNs = 10e9;  // for the kernel's end after its stop word

// Released, so that the GPU sees all writes before the word.
void store(std::byte* word, std::uint32_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(value, std::memory_order_release);
}

}  // namespace

std::vector<std::uint32_t> passed_data(std::uint32_t words) {
  constexpr std::uint32_t kSpread = 2654435761U;  // odd: different numbers stay different
  std::vector<std::uint32_t> made(words + kDataTurns * kDataWordsOfTurn);
  for (std::uint32_t i = 0; i < made.size(); ++i) made[i] = (i + 1) * kSpread;
  return made;
}

AnsweringGpu::AnsweringGpu(const Gpu& gpu, double stall_ns)
    : gpu_(&gpu),
      idle_cycles_(static_cast<unsigned long long>(kCyclesPerNs *
                                                   std::clamp(stall_ns, kMinIdleNs, kMaxIdleNs))) {}

// The pinned words are zero at first: values of the flag begin above 0.
Result<AnsweringGpu> AnsweringGpu::create(const Gpu& gpu, double stall_ns) {
  AnsweringGpu made(gpu, stall_ns);
  made.code_ = RG_TRY(LoadedCode::load(gpu, kFlagAnswerCode));
  made.polls_flag_ = RG_TRY(made.code_.function("railgauge_answer_flags"));
  made.waits_for_gate_ = RG_TRY(made.code_.function("railgauge_answer_gated"));
  made.passes_data_ = RG_TRY(made.code_.function("railgauge_pass_data"));
  constexpr std::size_t kBytes = static_cast<std::size_t>(Word::kCount) * kLineBytes;
  made.words_ = RG_TRY(on_gpu(gpu, PinnedBuffer::allocate(kBytes, PinnedKind::kPinned)));
  std::memset(made.words_.data(), 0, made.words_.size());
  made.stream_ = RG_TRY(make_stream(gpu));
  made.ended_ = RG_TRY(make_event(gpu));
  return made;
}

std::byte* AnsweringGpu::word(Word which) const {
  return words_.data() + static_cast<std::size_t>(which) * kLineBytes;
}

cu::DevicePtr AnsweringGpu::word_on_gpu(Word which) const {
  return words_.device_pointer() + static_cast<std::size_t>(which) * kLineBytes;
}

const std::uint8_t* AnsweringGpu::answer() const {
  return reinterpret_cast<const std::uint8_t*>(word(Word::kAnswer));  // little-endian CPUs
}

void AnsweringGpu::open_gate(std::uint32_t value) { store(word(Word::kGate), value); }

std::uint32_t AnsweringGpu::stale() const {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word(Word::kStale)))
      .load(std::memory_order_acquire);
}

// The arguments are copied by the launch, so locals suffice.
Status AnsweringGpu::begin(cu::DevicePtr flag, std::uint32_t first, std::uint32_t rounds) {
  cu::DevicePtr answer_at = word_on_gpu(Word::kAnswer);
  cu::DevicePtr stop_at = word_on_gpu(Word::kStop);
  unsigned long long idle_cycles = idle_cycles_;
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&flag, &answer_at, &stop_at, &first, &rounds, &idle_cycles};
  return launch(polls_flag_, arguments);
}

// The gate starts closed: it holds the value before the first.
Status AnsweringGpu::begin_gated(cu::DevicePtr flag, std::uint32_t first, std::uint32_t rounds) {
  cu::DevicePtr gate_at = word_on_gpu(Word::kGate);
  cu::DevicePtr answer_at = word_on_gpu(Word::kAnswer);
  cu::DevicePtr stale_at = word_on_gpu(Word::kStale);
  cu::DevicePtr stop_at = word_on_gpu(Word::kStop);
  unsigned long long idle_cycles = idle_cycles_;
  store(word(Word::kGate), first - 1);
  store(word(Word::kStale), 0);
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&gate_at, &flag,  &answer_at, &stale_at,
                       &stop_at, &first, &rounds,    &idle_cycles};
  return launch(waits_for_gate_, arguments);
}

// The count of wrong words shares its place with that of stale looks.
Status AnsweringGpu::begin_passing(const Pass& pass, std::uint32_t first, std::uint32_t rounds) {
  Pass own = pass;
  if (own.answer == 0) own.answer = word_on_gpu(Word::kAnswer);
  cu::DevicePtr stop_at = word_on_gpu(Word::kStop);
  cu::DevicePtr wrong_at = word_on_gpu(Word::kStale);
  unsigned writes = pass.gpu_writes ? 1 : 0;
  unsigned long long idle_cycles = idle_cycles_;
  store(word(Word::kStale), 0);
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&own.flag, &own.answer, &stop_at, &own.data, &own.words,
                       &writes,   &wrong_at,   &first,   &rounds,   &idle_cycles};
  return launch(passes_data_, arguments, pass.threads);
}

std::uint32_t AnsweringGpu::wrong_words() const { return stale(); }

// One block, of one thread but for data. An event marks the kernel's end, so that the wait for it
// has a limit.
Status AnsweringGpu::launch(cu::Function function, void** arguments, unsigned threads) {
  RG_CHECK(!runs_);
  const Cuda& cuda = loaded_cuda();
  store(word(Word::kStop), 0);
  runs_ = true;  // half a launch may run
  RG_TRY_OK(gpu_status(
      *gpu_,
      cuda.launch_kernel(function, 1, 1, 1, threads, 1, 1, 0, stream_.get(), arguments, nullptr),
      "launch the kernel that answers flags"));
  return gpu_status(*gpu_, cuda.event_record(ended_.get(), stream_.get()),
                    "mark the end of the kernel that answers flags");
}

// The kernel ended although the last answer is missing: its own idle limit came.
bool AnsweringGpu::gave_up_before(std::uint32_t last) const {
  return runs_ && loaded_cuda().event_query(ended_.get()) == cu::kSuccess &&
         *answer() != static_cast<std::uint8_t>(last);
}

// Idempotent; the destructor calls it too.
Status AnsweringGpu::end() {
  if (!runs_) return {};
  runs_ = false;
  store(word(Word::kStop), 1);
  Status ended =
      wait_for(*gpu_, ended_, monotonic_now_ns() + kEndNs, "end the kernel that answers flags");
  // The event may not have been recorded: then the stream answers.
  const Status drained = gpu_status(*gpu_, loaded_cuda().stream_synchronize(stream_.get()),
                                    "wait for the stream of the kernel that answers flags");
  return ended ? drained : ended;
}

}  // namespace railgauge::gpu

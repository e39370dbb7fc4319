// Round trip between CPU and GPU: the CPU writes a word through the BAR, a kernel of one thread
// polls it in the GPU's memory and answers into pinned host memory, which the CPU polls. So a write
// is timed until the GPU has seen it, and its answer until the CPU has: the time of a flag to a
// kernel that runs. A sample is the time from one answer to the next, so one reading of the clock
// is inside. The kernel is launched once for each batch, outside the samples; each answer is
// compared with what was written.
//
// A GPU kernel that never ends hangs the card, so this one ends by the number of its rounds, by a
// word of host memory that the CPU sets whenever it leaves, and by the GPU's own clock.
#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/timing.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu

namespace railgauge::bar {
namespace {

// The flag and the answer are words of 32 bits.
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
// Answer and stop word are this far apart, so that the GPU's polling of one does not slow the
// other.
constexpr std::size_t kLineBytes = 128;
// Cycles without a flag after which the GPU kernel ends: about 2 s of a GPU's clock.
constexpr unsigned long long kIdleCycles = 4'000'000'000;
// Time in ns for each answer. The CPU waits less than the GPU, so that the CPU reports the failure.
constexpr double kAnswerNs = 1e9;
// Time in ns for the kernel's end after its stop word: more than kIdleCycles.
constexpr double kEndNs = 10e9;
// Polls between two readings of the clock, so that a late answer costs no time in the samples.
constexpr unsigned kPollsBetweenLooks = 1024;
// Trips that are not kept after a reading of NVML, which slows the first ones.
constexpr std::uint64_t kTripsAfterReading = 8;

// Loads pinned host memory that the GPU writes. Acquire: what the GPU wrote before is visible
// after.
std::uint32_t load(const std::byte* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(word)))
      .load(std::memory_order_acquire);
}

// Stores to pinned host memory that the GPU reads, after all earlier stores.
void store(std::byte* word, std::uint32_t value) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(value, std::memory_order_release);
}

// The addresses and limits of a batch, as plain values for the timed loop.
struct Court {
  std::byte* flag = nullptr;          // the BAR's address
  const std::byte* answer = nullptr;  // host memory
  Copy write = nullptr;
  double deadline_monotonic_ns = 0;
};

// Waits for one answer. False when it came neither within kAnswerNs nor before the deadline. An
// answer that comes soon costs no reading of the clock.
bool await(const Court& court, std::uint32_t expected) {
  std::optional<double> limit_ns;
  while (load(court.answer) != expected) {
    for (unsigned polls = 0; polls < kPollsBetweenLooks; ++polls)
      if (load(court.answer) == expected) return true;
    const double now_ns = monotonic_now_ns();
    if (!limit_ns) limit_ns = std::min(court.deadline_monotonic_ns, now_ns + kAnswerNs);
    if (now_ns >= *limit_ns) return false;
  }
  return true;
}

// Round trips with the values `first`, `first` + 1, ...: stamps[0] is taken before, stamps[i] after
// round trip i. Returns the value whose answer did not come, or nothing.
std::optional<std::uint32_t> play(const Court& court, const TickClock& clock, std::uint32_t first,
                                  std::uint64_t rounds, std::uint64_t* stamps) {
  stamps[0] = clock.ticks();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto value = first + static_cast<std::uint32_t>(round);
    court.write(court.flag, reinterpret_cast<const std::byte*>(&value), sizeof value);
    if (!await(court, value)) return value;
    stamps[round + 1] = clock.ticks();
  }
  return std::nullopt;
}

// Signals the running kernel to end, whichever way its batch is left. The constructor clears the
// word.
class StopAtExit {
 public:
  explicit StopAtExit(std::byte* word) : word_(word) { store(word_, 0); }
  ~StopAtExit() { store(word_, 1); }
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;

 private:
  std::byte* word_;
};

// One batch is one launch of the GPU kernel. Values never repeat within a task, so that an old
// answer is no new one.
class PingPong final : public Kernel {
 public:
  // Loads the GPU code before the mapping is measured; a build without device code waives here.
  Status prepare(Context& context) override {
    options_ = RG_TRY(sampler_options(context.params));
    stamps_.resize(options_.batch + 1);
    setup_ = RG_TRY(Setup::open(context, kWordBytes));
    code_ = RG_TRY(gpu::LoadedCode::load(setup_.gpu(), gpu::kFlagAnswerCode));
    function_ = RG_TRY(code_->function("railgauge_answer_flags"));
    context.reporter.fact("device_code", code_->image());
    words_ = RG_TRY(PinnedBuffer::allocate(2 * kLineBytes, PinnedKind::kPinned));
    RG_TRY_OK(setup_.session().check_host_memory(context, words_.span()));
    store(answer(), 0);
    store(stop(), 0);
    stream_ = RG_TRY(gpu::make_stream(setup_.gpu()));
    ended_ = RG_TRY(gpu::make_event(setup_.gpu()));
    return {};
  }

  Status connect(Context& /*context*/, Group& /*group*/) override { return {}; }

  Status measure(Context& context, Group& /*group*/) override {
    const Sampled sampled = RG_TRY(setup_.session().sample(
        context, options_,
        [&](std::uint64_t count, std::vector<double>& out) { return batch(context, count, out); },
        [&] {
          std::vector<double> not_kept;  // what follows NVML's readings is slow
          return batch(context, kTripsAfterReading, not_kept);
        }));
    Point point = setup_.make_point({.metric = "latency_ns", .meaning = "rtt", .unit = "ns"},
                                    kWordBytes, sampled, context.raw_samples);
    point.set_verified(true);
    (*point.mutable_facts())["clock_drift_ppm"] =
        fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    setup_.session().report(context, std::move(point));
    return {};
  }

 private:
  // The two words of host memory that CPU and GPU share.
  [[nodiscard]] std::byte* answer() const { return words_.data(); }
  [[nodiscard]] std::byte* stop() const { return words_.data() + kLineBytes; }

  // One launch and `count` round trips. The kernel has ended when this returns, whatever happened.
  Status batch(const Context& context, std::uint64_t count, std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    RG_TRY_OK(check_deadline(context, "ping-pong through the BAR"));
    const std::uint32_t first = last_ + 2;  // the kernel's first word, first - 1, is new as well
    last_ = first + static_cast<std::uint32_t>(count) - 1;
    Status launched;
    Status played;
    {
      const StopAtExit stop_at_exit(stop());
      launched = launch(first, count);
      if (launched) played = play_batch(context, first, count);
    }
    if (!launched) {
      // Half a launch may run: it has its stop word, and nothing of it may be freed before it ends.
      static_cast<void>(loaded_cuda().ctx_synchronize());
      return launched;
    }
    RG_TRY_OK(gpu::wait_for(setup_.gpu(), ended_, monotonic_now_ns() + kEndNs,
                            "end the ping-pong's kernel"));
    RG_TRY_OK(played);
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(tick_clock(context).to_ns(stamps_[i + 1] - stamps_[i]));
    return {};
  }

  // Waits for the kernel's start and makes the stamps. kDeadlineExceeded when the task's time ended
  // it, kInternal when an answer did not come.
  Status play_batch(const Context& context, std::uint32_t first, std::uint64_t count) {
    const Court court{setup_.view().cpu, answer(), setup_.copier().writer->write,
                      context.deadline_monotonic_ns};
    if (!await(court, first - 1)) return no_answer(context, first - 1, "launch");
    const auto missing = play(court, tick_clock(context), first, count, stamps_.data());
    return missing ? no_answer(context, *missing, "CPU's write") : Status{};
  }

  // The task's deadline is the reason where it has passed; else the GPU is at fault.
  Status no_answer(const Context& context, std::uint32_t expected, std::string_view to) {
    RG_TRY_OK(check_deadline(context, "ping-pong through the BAR"));
    return fail(Code::kInternal,
                fmt::format("{}: ping-pong: no answer to the {} within {:.0f} s; the last one was "
                            "{}, expected {}",
                            setup_.gpu().name(), to, kAnswerNs / 1e9, load(answer()), expected));
  }

  // Queues the kernel of one thread and the event after it. The arguments follow flag_answer.cu.
  Status launch(std::uint32_t first, std::uint64_t count) {
    const Cuda& cuda = loaded_cuda();
    cu::DevicePtr flag = setup_.view().gpu;
    cu::DevicePtr answer_at = words_.device_pointer();
    cu::DevicePtr stop_at = words_.device_pointer() + kLineBytes;
    auto first_value = static_cast<unsigned>(first);
    auto rounds = static_cast<unsigned>(count);
    unsigned long long idle_cycles = kIdleCycles;
    // NOLINTNEXTLINE(modernize-avoid-c-arrays)
    void* arguments[] = {&flag, &answer_at, &stop_at, &first_value, &rounds, &idle_cycles};
    RG_TRY_OK(gpu_status(
        setup_.gpu(),
        cuda.launch_kernel(function_, 1, 1, 1, 1, 1, 1, 0, stream_.get(), arguments, nullptr),
        "launch the ping-pong's kernel"));
    return gpu_status(setup_.gpu(), cuda.event_record(ended_.get(), stream_.get()),
                      "mark the end of the ping-pong's kernel");
  }

  // Members are released in reverse: event and stream before the words, the code before the setup.
  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  Setup setup_;
  std::optional<gpu::LoadedCode> code_;
  cu::Function function_ = nullptr;
  PinnedBuffer words_;
  gpu::Stream stream_;
  gpu::Event ended_;
  std::uint32_t last_ = 0;
};

// The declaration. The message is always one word, so there is no parameter `sizes`.
KernelInfo info() {
  InfoBuilder builder("bar.ping_pong", 1,
                      "CPU writes a flag through the PCIe BAR, a GPU kernel answers: round trip");
  builder.endpoint("gpu").metrics({"latency_ns"}).sampling("round trips", 1000, 100'000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarPingPong{
    bar::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<bar::PingPong>(); }};
}  // namespace railgauge

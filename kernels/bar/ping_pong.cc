// Round trip between CPU and GPU. The CPU writes a word through the BAR; a one-thread kernel polls
// the word in GPU memory and answers into pinned host memory, which the CPU polls. The time thus
// runs until the GPU has seen the write and the CPU has seen the answer: the time of a flag to a
// running kernel. A sample is the time from one answer to the next, including one clock reading.
// The kernel is launched once for each batch, outside the samples; each answer is compared with the
// written value.
//
// A GPU kernel that never ends hangs the card, so this one ends by the number of its rounds, by a
// word of host memory that the CPU sets whenever it leaves, and by the GPU's own clock.
#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"
#include "kernels/gpu/answering_gpu.h"

namespace railgauge::bar {
namespace {

// The flag and the answer are words of 32 bits.
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
// Time in ns for each answer. The GPU waits longer, so that the CPU reports the failure.
constexpr double kAnswerNs = 1e9;
// Polls between two readings of the clock, so that a late answer costs no time in the samples.
constexpr unsigned kPollsBetweenLooks = 1024;
// Trips that are not kept after a reading of NVML, which slows the first ones.
constexpr std::uint64_t kTripsAfterReading = 8;

// Loads pinned host memory that the GPU writes. Acquire: the GPU's earlier writes are visible
// afterwards.
std::uint32_t load(const std::uint8_t* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(const_cast<std::uint8_t*>(word)))
      .load(std::memory_order_acquire);
}

// The addresses and limits of a batch, as plain values for the timed loop.
struct Court {
  std::byte* flag = nullptr;             // the BAR's address
  const std::uint8_t* answer = nullptr;  // host memory
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

// One batch is one launch of the GPU kernel. Values never repeat within a task, so that an old
// answer cannot pass as a new one.
class PingPong final : public Kernel {
 public:
  // Loads the GPU code before the mapping is measured; a build without device code waives here.
  Status prepare(Context& context) override {
    options_ = RG_TRY(sampler_options(context.params));
    stamps_.resize(options_.batch + 1);
    setup_ = RG_TRY(Setup::open(context, kWordBytes));
    answering_.emplace(RG_TRY(gpu::AnsweringGpu::create(setup_.gpu(), kAnswerNs)));
    context.reporter.fact("device_code", answering_->image());
    return setup_.session().check_host_memory(context, answering_->words());
  }

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
  // Runs one launch and `count` round trips. The kernel has ended on return, even after an error.
  Status batch(const Context& context, std::uint64_t count, std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    RG_TRY_OK(check_deadline(context, "ping-pong through the BAR"));
    const std::uint32_t first = last_ + 2;  // the kernel's first word, first - 1, is new as well
    last_ = first + static_cast<std::uint32_t>(count) - 1;
    const Status launched =
        answering_->begin(setup_.view().gpu, first, static_cast<std::uint32_t>(count));
    Status played;
    if (launched) played = play_batch(context, first, count);
    const Status ended = answering_->end();
    for (const Status& step : {launched, ended, played}) RG_TRY_OK(step);
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(tick_clock(context).to_ns(stamps_[i + 1] - stamps_[i]));
    return {};
  }

  // Waits for the kernel's start and makes the stamps. kDeadlineExceeded when the task's time ended
  // it, kInternal when an answer did not come.
  Status play_batch(const Context& context, std::uint32_t first, std::uint64_t count) {
    const Court court{setup_.view().cpu, answering_->answer(), setup_.copier().writer->write,
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
                            setup_.gpu().name(), to, kAnswerNs / 1e9, load(answering_->answer()),
                            expected));
  }

  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  Setup setup_;
  std::optional<gpu::AnsweringGpu> answering_;  // goes before the setup, whose GPU it is
  std::uint32_t last_ = 0;
};

// The declaration. The message is always one word, so there is no parameter `sizes`.
KernelInfo info() {
  InfoBuilder builder("bar.ping_pong", 3,
                      "CPU writes a flag through the PCIe BAR, a GPU kernel answers: round trip");
  builder.endpoint("gpu").metrics({"latency_ns"}).sampling("round trips", kLatencySamples, 100'000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace
}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarPingPong{
    bar::info, []() -> std::unique_ptr<Kernel> { return std::make_unique<bar::PingPong>(); }};
}  // namespace railgauge

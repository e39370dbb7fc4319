// Round trip between CPU and GPU. The CPU writes a word through the BAR; a kernel polls the word in
// GPU memory and answers into pinned host memory, which the CPU polls. The time thus runs until the
// GPU has seen the write and the CPU has seen the answer: the time of a flag to a running kernel. A
// sample is the time from one answer to the next, including one clock reading. The kernel is
// launched once for each batch, outside the samples; each answer is compared with the written
// value.
//
// With `data` a message travels beside the flag. The CPU writes it before its flag and the GPU
// compares each word before it answers (`data_from: cpu`), or the GPU writes it before its answer
// and the CPU reads it before its next flag (`gpu`). Each round has other words, so a flag that
// overtakes its data is found: by the GPU in any word; by the CPU in the last word of each message
// and in all words of a batch's last one.
//
// A GPU kernel that never ends hangs the card, so this one ends by the number of its rounds, by a
// word of host memory that the CPU sets whenever it leaves, and by the GPU's own clock.
#include <atomic>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "kernels/bar/copy_timer.h"
#include "kernels/bar/setup.h"
#include "kernels/bar/with_routines.h"
#include "kernels/core/text/units.h"
#include "kernels/gpu/answering_gpu.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// The flag and the answer are words of 32 bits.
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
// Places in the window and in pinned memory: no two share a line of any cache.
constexpr std::size_t kAnswerAt = 256;
constexpr std::size_t kDataAt = 4096;
constexpr double kMaxDataBytes = 64U << 20U;
constexpr double kMaxThreads = 1024;
// Time in ns for each answer. The GPU waits longer, so that the CPU reports the failure.
constexpr double kAnswerNs = 1e9;
// Polls between two readings of the clock, so that a late answer costs no time in the samples.
constexpr unsigned kPollsBetweenLooks = 1024;
// Trips that are not kept after a reading of NVML, which slows the first ones.
constexpr std::uint64_t kTripsAfterReading = 8;

// Loads memory that the GPU writes. Acquire: the GPU's earlier writes are visible afterwards.
std::uint32_t load(const std::byte* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(word)))
      .load(std::memory_order_acquire);
}

// A copy of the CPU's own memory; what it stored before is visible before.
void copy_on_host(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == kWordBytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, from, sizeof value);
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(to)).store(value, std::memory_order_release);
    return;
  }
  std::memcpy(to, from, bytes);
}

// The addresses and limits of a batch, as plain values for the timed loop.
struct Court {
  std::byte* flag = nullptr;          // the BAR's address, or host memory
  const std::byte* answer = nullptr;  // likewise
  Copy write = nullptr;               // of the flag
  // Copies the data: from the CPU's array to `data` before the flag, or from `data` to `sink` after
  // the answer; both nullptr without data.
  Copy send = nullptr;
  Copy fetch = nullptr;
  std::byte* data = nullptr;
  const std::uint32_t* words = nullptr;
  std::byte* sink = nullptr;
  std::size_t data_bytes = 0;
  double deadline_monotonic_ns = 0;

  // Returns the words of the value's data.
  [[nodiscard]] const std::byte* data_of(std::uint32_t value) const {
    return reinterpret_cast<const std::byte*>(words +
                                              value % gpu::kDataTurns * gpu::kDataWordsOfTurn);
  }
  // Whether the last word that was fetched is the value's.
  [[nodiscard]] bool fetched(std::uint32_t value) const {
    const std::size_t at = data_bytes - kWordBytes;
    return std::memcmp(sink + at, data_of(value) + at, kWordBytes) == 0;
  }
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

// The end of a batch: the value whose answer did not come, and the first whose data were others.
struct Played {
  std::optional<std::uint32_t> missing{};
  std::optional<std::uint32_t> stale{};
};

// Round trips with the values `first`, `first` + 1, ...: stamps[0] is taken before, stamps[i] after
// round trip i.
Played play(const Court& court, const TickClock& clock, std::uint32_t first, std::uint64_t rounds,
            std::uint64_t* stamps) {
  Played played;
  stamps[0] = clock.ticks();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto value = first + static_cast<std::uint32_t>(round);
    if (court.send != nullptr) court.send(court.data, court.data_of(value), court.data_bytes);
    court.write(court.flag, reinterpret_cast<const std::byte*>(&value), sizeof value);
    if (!await(court, value)) {
      played.missing = value;
      return played;
    }
    if (court.fetch != nullptr) {
      court.fetch(court.sink, court.data, court.data_bytes);
      if (!court.fetched(value) && !played.stale) played.stale = value;
    }
    stamps[round + 1] = clock.ticks();
  }
  return played;
}

// One batch is one launch of the GPU kernel. Values never repeat within a task, so that an old
// answer cannot pass as a new one.
class PingPong final : public Kernel {
 public:
  explicit PingPong(std::span<const Routine> known) : known_(known) {}

  // Loads the GPU code before the mapping is measured; a build without device code waives here.
  Status prepare(Context& context) override {
    options_ = RG_TRY(sampler_options(context.params));
    stamps_.resize(options_.batch + 1);
    RG_TRY_OK(read_places(context.params));
    setup_ = RG_TRY(Setup::open(context, kDataAt + std::max(data_bytes_, kWordBytes), known_));
    answering_.emplace(RG_TRY(gpu::AnsweringGpu::create(setup_.gpu(), kAnswerNs)));
    context.reporter.fact("device_code", answering_->image());
    on_host_ = RG_TRY(gpu::on_gpu(
        setup_.gpu(),
        PinnedBuffer::allocate(kDataAt + std::max(data_bytes_, kWordBytes), PinnedKind::kPinned)));
    std::memset(on_host_.data(), 0, on_host_.size());
    RG_TRY_OK(setup_.session().check_host_memory(context, on_host_.span()));
    if (data_bytes_ > 0) {
      words_ = gpu::passed_data(static_cast<std::uint32_t>(data_bytes_ / kWordBytes));
      sink_ = RG_TRY(HostBuffer::allocate(data_bytes_));
    }
    report_places(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& /*group*/) override {
    const Sampled sampled = RG_TRY(setup_.session().sample(
        context, options_,
        [&](std::uint64_t count, std::vector<double>& out) { return batch(context, count, out); },
        [&] {
          std::vector<double> not_kept;  // what follows NVML's readings is slow
          return batch(context, kTripsAfterReading, not_kept);
        }));
    Point point =
        setup_.make_point({.metric = "latency_ns", .meaning = "rtt", .unit = "ns"},
                          data_bytes_ > 0 ? data_bytes_ : kWordBytes, sampled, context.raw_samples);
    point.set_verified(true);
    (*point.mutable_facts())["clock_drift_ppm"] =
        fmt::format("{:.3f}", tick_clock(context).drift_ppm());
    setup_.session().report(context, std::move(point));
    return {};
  }

 private:
  // Where flag, answer and data are, and who makes the data.
  Status read_places(const Params& params) {
    data_bytes_ = params.bytes("data");
    if (data_bytes_ % kWordBytes != 0)
      return invalid("parameter data: {} is not a multiple of {} bytes", data_bytes_, kWordBytes);
    gpu_makes_data_ = params.text("data_from") == "gpu";
    flag_on_host_ = params.text("flag_memory") == "host";
    answer_on_gpu_ = params.text("answer_memory") == "gpu";
    data_on_host_ = params.text("data_memory") == "host";
    threads_ = static_cast<std::uint32_t>(params.integer("threads"));
    return {};
  }

  void report_places(Reporter& reporter) const {
    reporter.fact("flag_memory", flag_on_host_ ? "host" : "gpu");
    reporter.fact("answer_memory", answer_on_gpu_ ? "gpu" : "host");
    if (data_bytes_ == 0) return;
    reporter.fact("data",
                  fmt::format("{} from the {}, in {} memory", canonical_bytes(data_bytes_),
                              gpu_makes_data_ ? "GPU" : "CPU", data_on_host_ ? "host" : "GPU"));
  }

  // A place in host memory or in the window, as either side addresses it.
  [[nodiscard]] std::byte* by_cpu(bool on_host, std::size_t at) const {
    return (on_host ? on_host_.data() : setup_.view().cpu) + at;
  }
  [[nodiscard]] cu::DevicePtr by_gpu(bool on_host, std::size_t at) const {
    return (on_host ? on_host_.device_pointer() : setup_.view().gpu) + at;
  }

  [[nodiscard]] Court court(const Context& context) {
    Court court{.flag = by_cpu(flag_on_host_, 0),
                .answer = answer_on_gpu_ ? by_cpu(false, kAnswerAt)
                                         : reinterpret_cast<const std::byte*>(answering_->answer()),
                .write = flag_on_host_ ? copy_on_host : setup_.copier().writer->write,
                .data_bytes = data_bytes_,
                .deadline_monotonic_ns = context.deadline_monotonic_ns};
    if (data_bytes_ == 0) return court;
    court.data = by_cpu(data_on_host_, kDataAt);
    court.words = words_.data();
    court.sink = sink_.data();
    if (gpu_makes_data_)
      court.fetch = data_on_host_ ? copy_on_host : setup_.copier().reader->read;
    else
      court.send = data_on_host_ ? copy_on_host : setup_.copier().writer->write;
    return court;
  }

  // The plain kernel serves flags in their usual places.
  Status begin(std::uint32_t first, std::uint32_t count) {
    if (data_bytes_ == 0 && !flag_on_host_ && !answer_on_gpu_ && threads_ == 1)
      return answering_->begin(setup_.view().gpu, first, count);
    return answering_->begin_passing({.flag = by_gpu(flag_on_host_, 0),
                                      .answer = answer_on_gpu_ ? by_gpu(false, kAnswerAt) : 0,
                                      .data = by_gpu(data_on_host_, kDataAt),
                                      .words = static_cast<std::uint32_t>(data_bytes_ / kWordBytes),
                                      .gpu_writes = gpu_makes_data_,
                                      .threads = threads_},
                                     first, count);
  }

  // Runs one launch and `count` round trips. The kernel has ended on return, even after an error.
  Status batch(const Context& context, std::uint64_t count, std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    RG_TRY_OK(check_deadline(context, "ping-pong through the BAR"));
    const std::uint32_t first = last_ + 2;  // the kernel's first word, first - 1, is new as well
    last_ = first + static_cast<std::uint32_t>(count) - 1;
    const Status launched = begin(first, static_cast<std::uint32_t>(count));
    Status played;
    if (launched) played = play_batch(context, first, count);
    const Status ended = answering_->end();
    for (const Status& step : {launched, ended, played}) RG_TRY_OK(step);
    RG_TRY_OK(check_data());
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(tick_clock(context).to_ns(stamps_[i + 1] - stamps_[i]));
    return {};
  }

  // Waits for the kernel's start and makes the stamps. kDeadlineExceeded when the task's time ended
  // it, kInternal when an answer did not come, kDataLoss where it overtook its data.
  Status play_batch(const Context& context, std::uint32_t first, std::uint64_t count) {
    const Court field = court(context);
    if (!await(field, first - 1)) return no_answer(context, field, first - 1, "launch");
    const Played played = play(field, tick_clock(context), first, count, stamps_.data());
    if (played.missing) return no_answer(context, field, *played.missing, "CPU's write");
    if (played.stale)
      return fail(
          Code::kDataLoss,
          fmt::format("{}: ping-pong: the GPU's answer {} came without the last word of its "
                      "{} of data",
                      setup_.gpu().name(), *played.stale, canonical_bytes(data_bytes_)));
    if (field.fetch == nullptr || std::memcmp(field.sink, field.data_of(last_), data_bytes_) == 0)
      return {};
    return fail(Code::kDataLoss,
                fmt::format("{}: ping-pong: the data that the CPU fetched after answer {} differ "
                            "from what the GPU wrote",
                            setup_.gpu().name(), last_));
  }

  // The GPU's own comparison of the CPU's data.
  [[nodiscard]] Status check_data() const {
    if (data_bytes_ == 0 || gpu_makes_data_ || answering_->wrong_words() == 0) return {};
    return fail(Code::kDataLoss,
                fmt::format("{}: ping-pong: {} words of data were others when the GPU saw their "
                            "flags",
                            setup_.gpu().name(), answering_->wrong_words()));
  }

  // The task's deadline is the reason where it has passed; else the GPU is at fault.
  Status no_answer(const Context& context, const Court& field, std::uint32_t expected,
                   std::string_view to) {
    RG_TRY_OK(check_deadline(context, "ping-pong through the BAR"));
    return fail(
        Code::kInternal,
        fmt::format("{}: ping-pong: no answer to the {} within {:.0f} s; the last one was "
                    "{}, expected {}",
                    setup_.gpu().name(), to, kAnswerNs / 1e9, load(field.answer), expected));
  }

  std::span<const Routine> known_;
  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  std::size_t data_bytes_ = 0;
  bool gpu_makes_data_ = false;
  bool flag_on_host_ = false;
  bool answer_on_gpu_ = false;
  bool data_on_host_ = false;
  std::uint32_t threads_ = 1;
  std::vector<std::uint32_t> words_;  // of the data of all values
  HostBuffer sink_;                   // for what the CPU fetches
  Setup setup_;
  PinnedBuffer on_host_;                        // flag and data, where they are the host's
  std::optional<gpu::AnsweringGpu> answering_;  // goes before the setup, whose GPU it is
  std::uint32_t last_ = 0;
};

// The declaration. The message is a word, or `data`, so there is no parameter `sizes`.
KernelInfo info() {
  InfoBuilder builder("bar.ping_pong", 3,
                      "CPU writes a flag through the PCIe BAR, a GPU kernel answers: round trip");
  builder.endpoint("gpu")
      .metrics({"latency_ns"})
      .bytes("data", "bytes beside each flag, a multiple of 4; 0: the flag alone", "0",
             kMaxDataBytes)
      .identity()
      .choice("data_from", "", "who makes the data, and so notifies the other one of them",
              {"cpu", "gpu"})
      .identity()
      .choice("data_memory", "", "where the data are", {"gpu", "host"})
      .identity()
      .choice("flag_memory", "", "where the word is by which the CPU notifies the GPU",
              {"gpu", "host"})
      .identity()
      .choice("answer_memory", "", "where the word is by which the GPU notifies the CPU",
              {"host", "gpu"})
      .identity()
      .integer("threads", "threads of the GPU that write or compare the data", 1, 1, kMaxThreads)
      .identity()
      .sampling("round trips", kLatencySamples, 100'000);
  add_bar_parameters(builder);
  return builder.build();
}

}  // namespace

std::unique_ptr<Kernel> make_ping_pong(std::span<const Routine> known) {
  return std::make_unique<PingPong>(known);
}

}  // namespace railgauge::bar

namespace railgauge {
extern const KernelRow kBarPingPong{bar::info, [] { return bar::make_ping_pong(bar::routines()); }};
}  // namespace railgauge

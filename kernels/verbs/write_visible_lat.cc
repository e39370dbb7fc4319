// Time until a GPU's kernel sees bytes that another node wrote into its memory. The flag is the
// last word of the message, which adapters place last; a one-thread kernel polls it in the target's
// GPU memory and answers. Four figures, three of them for each size, by the initiator's clock
// alone:
//
// completion: from the post to the completion of the write, commonly called the latency.
// gpu_visible: from the post until the kernel's answer is in the initiator's memory. The kernel
// polls the flag itself, and nothing is flushed.
// gpu_visible_flushed: the same with the flush that platforms without ordered remote writes for the
// GPU require (fact flush_required). The target's CPU detects the arrival by a receive, flushes,
// and only then lets the kernel look. A kernel that still sees an older flag fails the task.
// gpu_visible_read_back: for hosts without such a flush. The initiator reads the flag back over the
// same queue pair, which pushes the write before it, then signals the target's CPU, which lets the
// kernel look.
//
// All but the first are round trips: the way back is the same short write of the target's CPU,
// which polls the kernel's answer in pinned host memory. Rejected: a kernel that rings the
// adapter's doorbell itself. Its way back is shorter, but needs private code for each vendor's
// adapter, and the question is how soon the GPU sees, not how soon it can answer. So the CPU
// relays.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/core/sampling.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/answering_gpu.h"
#include "kernels/gpu/device.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/link/parameters.h"
#include "kernels/verbs/stream/link_kernel.h"

namespace railgauge::verbs {

namespace {

// Name of the driver's call, as facts and errors show it.
constexpr const char* kFlush = "cuFlushGPUDirectRDMAWrites";

// Values of CUGPUDirectRDMAWritesOrdering as facts show them.
std::string ordering_words(int ordering) {
  if (ordering >= cu::kWritesOrderedForAllDevices) return "all_devices";
  return ordering >= cu::kWritesOrderedForOwner ? "owner" : "none";
}

// The bits of CUflushGPUDirectRDMAWritesOptions as facts show them.
std::string option_words(unsigned options) {
  const bool by_host = (options & cu::kFlushByHost) != 0;
  const bool by_stream = (options & cu::kFlushByStream) != 0;
  if (by_host && by_stream) return "host,stream";
  return by_host ? "host" : by_stream ? "stream" : "none";
}

// Whether the GPU orders remote writes, and how the host flushes them.
struct RemoteFlush {
  bool by_host = false;  // cuFlushGPUDirectRDMAWrites is there, and works for this GPU
  int ordering = 0;      // attribute GPU_DIRECT_RDMA_WRITES_ORDERING
  unsigned options = 0;  // attribute GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS

  // The flush is usable where the driver has the call and the GPU's attribute permits the host to
  // use it. Fails where the driver does not know the attributes.
  static Result<RemoteFlush> of(const gpu::Gpu& gpu) {
    RemoteFlush found;
    found.ordering = RG_TRY(gpu.attribute(cu::kGpuDirectRdmaWritesOrdering));
    found.options = static_cast<unsigned>(RG_TRY(gpu.attribute(cu::kGpuDirectRdmaFlushOptions)));
    found.by_host = loaded_cuda().flush_gpudirect_rdma_writes != nullptr &&
                    (found.options & cu::kFlushByHost) != 0;
    return found;
  }
  // From the target's report, on the initiator.
  static RemoteFlush of(const PeerStatus& told) {
    return {.by_host = told.flushes(),
            .ordering = told.writes_ordering(),
            .options = told.flush_options()};
  }
  // Into this rank's report to its peer.
  void tell(PeerStatus& status) const {
    status.set_flushes(by_host);
    status.set_writes_ordering(ordering);
    status.set_flush_options(options);
  }
  // A kernel of the GPU that owns the memory sees the bytes before a flag that it sees.
  [[nodiscard]] bool is_required() const { return ordering < cu::kWritesOrderedForOwner; }
  // The facts rdma_writes_ordering, flush_required, flush_options and host_flush, and what they
  // mean for the figures.
  void report(Reporter& reporter) const {
    reporter.fact("rdma_writes_ordering", ordering_words(ordering));
    reporter.fact("flush_required", is_required() ? "true" : "false");
    reporter.fact("flush_options", option_words(options));
    reporter.fact("host_flush", by_host ? kFlush : "none");
    if (!by_host)
      reporter.note("info",
                    "the target's driver has no flush of remote writes by the host: "
                    "gpu_visible_flushed is not measured; gpu_visible_read_back flushes by a read");
    if (is_required())
      reporter.note(
          "warning",
          "the target's GPU orders remote writes for nobody: without a flush its kernel may "
          "see the flag before the bytes in front of it, and gpu_visible is the flag's "
          "figure alone");
  }
};

// Flushes the writes that reached the memory of the current context's GPU, for its own kernels.
Status flush_remote_writes(const gpu::Gpu& gpu) {
  return gpu_status(gpu,
                    loaded_cuda().flush_gpudirect_rdma_writes(cu::kFlushCurrentContext,
                                                              cu::kWritesOrderedForOwner),
                    kFlush);
}

// The flag: the last word of each message, which the GPU reads in one access.
constexpr std::size_t kFlagBytes = sizeof(std::uint32_t);
constexpr std::uint32_t kReceiveDepth = 16;  // one is in use
// At most two posts are in flight: the message and its read back.
constexpr std::uint32_t kSendDepth = 16;

// The figures in the order in which they are measured.
enum class Way : std::uint8_t { kCompletion, kVisible, kFlushed, kReadBack };

// The point's meaning, part of the series' name.
const char* meaning_of(Way way) {
  switch (way) {
    case Way::kCompletion:
      return "completion";
    case Way::kVisible:
      return "gpu_visible";
    case Way::kFlushed:
      return "gpu_visible_flushed";
    case Way::kReadBack:
      break;
  }
  return "gpu_visible_read_back";
}
// Whether the target's CPU hears of each message and lets the kernel look.
bool is_gated(Way way) { return way == Way::kFlushed || way == Way::kReadBack; }

// Rank 0 writes and takes the time; rank 1 owns the GPU and answers.
class WriteVisible final : public LinkKernel {
 public:
  // kInvalidArgument for a size that does not end in a flag of 4 bytes. Rank 1 waives without a GPU
  // or device code.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    Link::Options options = RG_TRY(read(context, Verb::kWriteImm));
    for (const std::uint64_t bytes : sizes_)
      if (bytes < kFlagBytes || bytes % kFlagBytes != 0)
        return fail(Code::kInvalidArgument,
                    fmt::format("parameter sizes: {}: a message ends in a flag of 4 bytes that one "
                                "access reads; take multiples of 4",
                                canonical_bytes(bytes)));
    options.send_depth = kSendDepth;
    options.receive_depth = kReceiveDepth;
    options.extra_access = IBV_ACCESS_REMOTE_READ;
    choose_gpu_target(context, options);
    RG_TRY_OK(open(context, options, true));
    return context.rank == 0 ? prepare_initiator()
                             : prepare_target(params.duration_ns("stall_timeout"));
  }

  // Afterwards both ranks know what the target can.
  Status connect(Context& context, Group& group) override {
    RG_TRY_OK(LinkKernel::connect(context, group));
    PeerStatus mine;
    flush_.tell(mine);
    const auto told = RG_TRY(agree_on(group, {}, mine, seconds_left(context)));
    flush_ = RemoteFlush::of(told[1]);
    flush_.report(context.reporter);
    if (answering_) context.reporter.fact("device_code", answering_->image());
    return {};
  }

 private:
  // The requests of one size, built outside the timed loop.
  struct Posts {
    // The write whose last word is the flag.
    Request message;
    // The read of the flag behind it.
    Request read_back;
    // The empty write with immediate data that signals the target's CPU.
    Request telling;
  };

  // Where the flag is read back to: on iWARP the answer is a write of the other side's.
  Status prepare_initiator() {
    fetched_ = RG_TRY(HostBuffer::allocate(kFlagBytes));
    const int access =
        IBV_ACCESS_LOCAL_WRITE | (link_->device().is_iwarp() ? IBV_ACCESS_REMOTE_WRITE : 0);
    fetched_region_ = RG_TRY(link_->register_memory(fetched_.span(), access));
    return {};
  }

  // Resources for the answers beside the link: the kernel, and a word of host memory to send them
  // from.
  Status prepare_target(double stall_ns) {
    const gpu::Gpu& gpu = link_->memory().gpu();
    flush_ = RG_TRY(RemoteFlush::of(gpu));
    answering_.emplace(RG_TRY(gpu::AnsweringGpu::create(gpu, stall_ns)));
    reply_ = RG_TRY(HostBuffer::allocate(kFlagBytes));
    reply_region_ = RG_TRY(link_->register_memory(reply_.span(), 0));
    return {};
  }

  Status begin(Context& context, Group& group) override {
    Status here;
    if (rank_ == 1) here = renew_receives(*link_, {}, {.receives = true}, false);
    return agree<PeerStatus>(group, here, seconds_left(context));
  }

  // Three figures. The third is the flushed one, or where the host has no flush the one that reads
  // back.
  Status measure_size(Context& context, Group& group, std::size_t size_index) override {
    const Layout layout = single_layout(*link_, sizes_[size_index]);
    for (const Way way :
         {Way::kCompletion, Way::kVisible, flush_.by_host ? Way::kFlushed : Way::kReadBack}) {
      Sampled sampled;
      RG_TRY_OK(
          take_steps(context, group, set_up_areas(*link_, layout, size_index, rank_),
                     {.run = [&](PeerStatus&) { return run(context, size_index, way, sampled); },
                      .verify = [&](const Told&) { return compare(layout, size_index); },
                      .report =
                          [&](const Told&, const Told& closed) {
                            return report(context, size_index, way, sampled, closed);
                          }},
                     Proving{.size_index = size_index, .of = 3}));
    }
    return {};
  }

  // Rank 0 samples; rank 1 answers.
  Status run(Context& context, std::size_t size_index, Way way, Sampled& sampled) {
    if (rank_ == 1) return way == Way::kCompletion ? Status{} : answer_all(way, size_index);
    book_.begin_work();
    sampled = RG_TRY(sample(context, size_index, way));
    book_.end_work(static_cast<double>(sampled.warmup_count + sampled.samples.size()));
    if (way != Way::kCompletion && !control_->send({.order = Order::kDone})) return failure();
    return {};
  }

  [[nodiscard]] Status compare(const Layout& layout, std::size_t size_index) const {
    if (rank_ == 0) return {};
    return verify_target(
        *link_, renewed(layout),
        {.size_index = size_index, .from = 0, .slots = 1, .renewed = 1, .uncompared = kFlagBytes});
  }

  // The point of one figure. kDataLoss above the line rate.
  Status report(Context& context, std::size_t size_index, Way way, const Sampled& sampled,
                const Told& closed) const {
    // The flag is not compared.
    Point point = RG_TRY(latency_point(context, meaning_of(way), size_index, sampled, kFlagBytes));
    auto& facts = *point.mutable_facts();
    facts["ends_at"] = way == Way::kCompletion
                           ? "completion of the write"
                           : "the GPU kernel's answer in the initiator's memory: a round trip";
    if (way == Way::kFlushed) facts["flushed_by"] = kFlush;
    if (way == Way::kReadBack) facts["flushed_by"] = "RDMA read";
    add_latency_accounts(closed, facts);
    add_proof(point);
    context.reporter.point(std::move(point));
    return {};
  }

  // The message whose last word is the flag.
  [[nodiscard]] Request message(std::size_t size_index, Way way) const {
    Request made = link_->request(sizes_[size_index]);
    if (way != Way::kFlushed) made.wr.opcode = IBV_WR_RDMA_WRITE;
    return made;
  }

  // For the flag in the target's memory, after which the write is in the GPU.
  [[nodiscard]] Request read_back(std::size_t size_index) const {
    Request made = link_->request(kFlagBytes);
    made.sge.addr = reinterpret_cast<std::uint64_t>(fetched_.data());
    made.sge.lkey = fetched_region_.get()->lkey;
    made.flags = 0;
    made.wr.opcode = IBV_WR_RDMA_READ;
    made.wr.wr.rdma.remote_addr += sizes_[size_index] - kFlagBytes;
    return made;
  }
  // Signals the target's CPU, with no bytes.
  [[nodiscard]] Request telling() const {
    Request made = link_->request(0);
    made.flags = 0;
    made.wr.num_sge = 0;
    return made;
  }

  // The samples of one figure in nanoseconds, on rank 0. Each batch uses values of the flag that no
  // earlier message had, so an old flag never looks like an answer.
  Result<Sampled> sample(Context& context, std::size_t size_index, Way way) {
    const TickClock& clock = tick_clock(context);
    Posts posts{message(size_index, way), read_back(size_index), telling()};
    Sampler sampler(context.clock, options_);
    const auto ready = [&] {
      return renew_areas(*link_, single_layout(*link_, sizes_[size_index]), size_index, rank_);
    };
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      RG_CHECK(count < stamps_.size());
      if (!link_->waiting().before_deadline()) return failure();
      const std::uint32_t first = next_ + 1;  // the kernel's first word, first - 1, is new as well
      // Only values that the target observes count for both.
      if (way != Way::kCompletion) next_ = first + static_cast<std::uint32_t>(count);
      // No leftover may look like the first answer, whose lowest byte is compared.
      const std::uint32_t before = first - 1;
      std::memcpy(link_->receive_area().data(), &before, sizeof before);
      ControlWord answer;
      if (way != Way::kCompletion &&
          (!control_->send({static_cast<std::uint32_t>(count),
                            static_cast<std::uint16_t>(size_index), Order::kPingPong}) ||
           !control_->receive(answer)))
        return failure();
      if (!round_trips(clock, posts, first, count, way)) return failure();
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]));
      return {};
    };
    return sampler.run(batch, ready);
  }

  // The timed loop. False when a queue or a wait failed.
  bool round_trips(const TickClock& clock, Posts& posts, std::uint32_t first, std::uint64_t count,
                   Way way) {
    // The flag's place in the message here; the adapter reads it at each post.
    std::byte* const flag = link_->send_area().data() + posts.message.sge.length - kFlagBytes;
    const auto* const reply = reinterpret_cast<const std::uint8_t*>(link_->receive_area().data());
    SendQueue& sends = link_->sends();
    stamps_[0] = clock.ticks();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t value = first + static_cast<std::uint32_t>(i);
      std::memcpy(flag, &value, sizeof value);
      if (!sends.post(posts.message, true)) return false;
      // The read follows the message, so its completion covers both.
      if (way == Way::kReadBack && (!sends.post(posts.read_back, true) || !sends.wait_retired() ||
                                    !sends.post(posts.telling, true)))
        return false;
      if (!sends.wait_retired()) return false;
      if (way != Way::kCompletion && !sends.wait_for_byte(reply, static_cast<std::uint8_t>(value)))
        return false;
      stamps_[i + 1] = clock.ticks();
    }
    return true;
  }

  // The target: answers the batches that the initiator orders until it reads kDone. The GPU kernel
  // runs for one batch, so a failed task leaves none behind.
  Status answer_all(Way way, std::size_t size_index) {
    for (;;) {
      ControlWord word;
      if (!control_->receive(word)) return failure();
      if (word.order == Order::kDone) return {};
      if (word.order != Order::kPingPong || word.size_index != size_index)
        return fail(Code::kInternal,
                    link_->device().endpoint() + ": the other side's control word makes no sense");
      const std::uint32_t first = next_ + 1;
      // Both ranks advance by the same count, so their values stay equal.
      next_ = first + word.count;
      // The flag's place in the target's memory.
      const cu::DevicePtr flag = reinterpret_cast<cu::DevicePtr>(link_->receive_area().data()) +
                                 sizes_[size_index] - kFlagBytes;
      book_.begin_work();
      Status played = is_gated(way) ? answering_->begin_gated(flag, first, word.count)
                                    : answering_->begin(flag, first, word.count);
      if (played) {
        played = answer_batch(way, first, word.count);
        if (!played && answering_->gave_up_before(next_ - 1))
          played.error().message += "; the GPU kernel that answers had ended before";
      }
      const Status ended = answering_->end();
      book_.end_work(word.count);
      RG_TRY_OK(played);
      RG_TRY_OK(ended);
      if (is_gated(way)) RG_TRY_OK(check_stale(way, size_index, word.count));
    }
  }

  // A GPU that sees an old flag after a flush disproves the flush: kDataLoss.
  [[nodiscard]] Status check_stale(Way way, std::size_t size_index, std::uint32_t count) const {
    if (answering_->stale() == 0) return {};
    return fail(
        Code::kDataLoss,
        fmt::format("{}: {} of {}: after {} the GPU still saw the flag of an earlier "
                    "message, {} times of {}, expected its own",
                    link_->device().endpoint(), meaning_of(way),
                    canonical_bytes(sizes_[size_index]),
                    way == Way::kFlushed ? kFlush : "the read back", answering_->stale(), count));
  }

  // The CPU's part of one batch: wait for the GPU's answer, write it to the initiator, and where
  // gated flush and open the gate before.
  Status answer_batch(Way way, std::uint32_t first, std::uint32_t count) {
    SendQueue& sends = link_->sends();
    const auto answered = [&](std::uint32_t value) {
      return sends.wait_for_byte(answering_->answer(), static_cast<std::uint8_t>(value));
    };
    // The GPU kernel runs once it has answered the value before the first; only then may the
    // initiator begin.
    if (!answered(first - 1) || !control_->send({.order = Order::kReady})) return failure();
    Request reply = reply_request();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t value = first + i;
      if (is_gated(way)) {
        if (!link_->receives().wait_one(sends)) return failure();
        if (way == Way::kFlushed) RG_TRY_OK(flush_remote_writes(link_->memory().gpu()));
        answering_->open_gate(value);
      }
      if (!answered(value)) return failure();
      std::memcpy(reply_.data(), &value, sizeof value);
      if (!sends.post(reply, true)) return failure();
      if (is_gated(way) && !link_->receives().give_back()) return failure();
      if (!sends.wait_retired()) return failure();
    }
    return {};
  }

  // The short write that carries the answer back, out of host memory.
  [[nodiscard]] Request reply_request() const {
    Request made = link_->request(kFlagBytes);
    made.sge.addr = reinterpret_cast<std::uint64_t>(reply_.data());
    made.sge.lkey = reply_region_.get()->lkey;
    made.flags = 0;
    made.wr.opcode = IBV_WR_RDMA_WRITE;
    return made;
  }

  std::optional<gpu::AnsweringGpu> answering_;  // goes before the link, whose GPU it is
  // Rank 0: the flag as it was read back.
  HostBuffer fetched_;
  MemoryRegionHandle fetched_region_;
  // Rank 1: the answer on its way back.
  HostBuffer reply_;
  MemoryRegionHandle reply_region_;
  std::uint32_t next_ = 1;  // above all values of the batches before; no word has it at first
  RemoteFlush flush_;       // the target's
};

// RC alone: the answer of an unreliable write may never come.
KernelInfo info() {
  InfoBuilder builder("verbs.write_visible_lat", 4,
                      "RDMA WRITE into GPU memory until a GPU kernel there sees it");
  builder.ranks(2, 2).endpoint("nic").metrics({"latency_ns"}).sizes("8,4KiB");
  builder.sampling("writes", kLatencySamples, 100'000).proof_time();
  add_connection(builder, {.transports = {"RC"}, .inline_bytes = "220", .has_memory = false});
  add_gpu_target(builder);
  return builder.build();
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteVisibleLat{verbs::info, []() -> std::unique_ptr<Kernel> {
                                               return std::make_unique<verbs::WriteVisible>();
                                             }};
}  // namespace railgauge

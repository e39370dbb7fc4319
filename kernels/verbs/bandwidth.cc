// The class behind the five bandwidth kernels. Rank 0 streams posts over one or more queue pairs
// and counts completions; rank 1 stays passive, sinks messages that use up receives, or streams too
// (direction both). kernels/verbs/kernels.cc states how a sample is made.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/kernels.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/stream/bandwidth_points.h"
#include "kernels/verbs/stream/link_kernel.h"
#include "kernels/verbs/stream/link_stream.h"
#include "kernels/verbs/stream/time_slots.h"

namespace railgauge::verbs {
namespace {

// Length of a window: long against the polls at its edges, short enough for thousands of samples.
constexpr double kWindowNs = 1e6;
// Upper limit of the probe that sizes the window, so that a slow link is not probed for seconds.
constexpr std::uint64_t kProbeGroups = 8;
// A window's count of writes; bounds the room that a run of tiny messages reserves.
constexpr std::uint64_t kMaxWindowWrites = 1U << 24U;
// Windows between two looks at the stop rule and the deadline.
constexpr std::uint64_t kWindowsInBatch = 10;

class Bandwidth final : public LinkKernel {
 public:
  explicit Bandwidth(Verb verb) : verb_(verb) {}

  // The adapter's limits are checked where the queues are made.
  Status prepare(Context& context) override {
    Link::Options options = RG_TRY(read(context, verb_));
    choose_memory(context, options);
    form_ = RG_TRY(stream_form(context.params));
    RG_TRY_OK(check_pace(form_.plan, options.largest_bytes));
    options_.batch = kWindowsInBatch;
    add_stream_options(context.params, form_.plan, options);
    // A target that takes receives must know when the stream ends; two streams need a common begin.
    return open(context, options, operation_of(options.verb).takes_receive || form_.both);
  }

 private:
  // The result of one size on this rank.
  struct Outcome {
    std::optional<Measured> measured;
    // Used instead of windows where a duration is given.
    TimeSlots slots;
    double uncertainty_ns = 0;
  };

  // Reports whether lost messages are subtracted. The arrival of an unreliable write is unknown:
  // its figure counts the bytes that left the initiator under a separate meaning, so nothing
  // compares it with arrived bytes.
  [[nodiscard]] bool counts_arrivals() const {
    return link_->is_reliable() || link_->operation().takes_receive;
  }
  // Whether this rank posts the stream; the other one's CPU stays idle where it can.
  [[nodiscard]] bool streams() const { return form_.both || rank_ == 0; }
  // The plan of one size: huge messages complete in smaller groups.
  [[nodiscard]] Stream::Plan plan_of(std::size_t size_index) const {
    return stream_plan(form_.plan, sizes_[size_index]);
  }

  Status measure_size(Context& context, Group& group, std::size_t size_index) override {
    const Layout layout = stream_layout(*link_, sizes_[size_index]);
    Status here = set_up_stream(*link_, layout, size_index, rank_);
    if (here && link_->operation().takes_receive) {
      const Parts parts{.sends = streams(), .receives = form_.both || rank_ == 1};
      if (size_index > 0)
        here = use_up_receives(*link_, *control_, tick_clock(context), parts, rank_);
      if (here) here = renew_receives(*link_, layout.target, parts, size_index > 0);
    }
    Outcome outcome;
    const StreamEnds ends{.size_index = size_index, .rank = rank_, .both = form_.both};
    return take_steps(
        context, group, here,
        {.run = [&](PeerStatus& mine) { return run(context, size_index, layout, outcome, mine); },
         .verify =
             [&](const Told& told) {
               return verify_stream(*link_, layout, ends, told[rank_], told[1 - rank_]);
             },
         .report =
             [&](const Told& told, const Told& closed) {
               return report(context, size_index, outcome, told, closed);
             }},
        Proving{.size_index = size_index, .both = form_.both, .receives = layout.target});
  }

  // The passive target of writes, reads and atomics sleeps in the group until the initiator has
  // measured: its CPU takes no part, and a lost initiator ends it at once.
  Status run(Context& context, std::size_t size_index, const Layout& layout, Outcome& outcome,
             PeerStatus& mine) {
    const TickClock& clock = tick_clock(context);
    const StreamPart part{.link = *link_,
                          .control = control_ ? &*control_ : nullptr,
                          .book = book_,
                          .clock = clock,
                          .both = form_.both};
    if (!streams()) {
      host_cost_.start();  // with the warm-up, whose end this rank does not see
      return link_->operation().takes_receive ? sink_stream(part, mine) : Status{};
    }
    const std::vector<Request> made = stream_requests(*link_, sizes_[size_index]);
    Stream stream(link_->sends(), clock, made, plan_of(size_index), stream_aim(*link_, layout));
    RG_TRY_OK(form_.duration_ns > 0 ? count_slots(context, stream, outcome, mine)
                                    : sample(context, size_index, stream, outcome));
    return end_stream(part, stream, mine);
  }

  // Returns the posts of a window: whole groups, for about kWindowNs.
  Result<std::uint64_t> choose_window(const TickClock& clock, Stream& stream,
                                      std::uint64_t signal_every) {
    if (!stream.top_up() || stream.retire() < 0 || !stream.top_up()) return failure();
    const std::uint64_t begin = clock.ticks();
    std::uint64_t last = begin;
    std::uint64_t writes = 0;
    double spent_ns = 0;
    double longest_ns = 0;
    while (writes < kProbeGroups * signal_every && spent_ns < kWindowNs) {
      const std::int64_t retired = stream.retire();
      if (retired < 0 || !stream.top_up()) return failure();
      writes += static_cast<std::uint64_t>(retired);
      const std::uint64_t now = clock.ticks();
      longest_ns = std::max(longest_ns, clock.to_ns(now - last));
      last = now;
      spent_ns = clock.to_ns(now - begin);
    }
    // Time of one group, from which follows how many groups fill a window. A pause in the probe
    // must not make windows short: the longest wait is left out where it is most of the time.
    const double rest_ns = spent_ns - longest_ns;
    if (longest_ns > rest_ns && rest_ns > 0) spent_ns = rest_ns;
    const double group_ns =
        std::max(1.0, spent_ns) * static_cast<double>(signal_every) / static_cast<double>(writes);
    const auto groups = static_cast<std::uint64_t>(std::ceil(kWindowNs / group_ns));
    return std::clamp(groups * signal_every, signal_every,
                      std::max(signal_every, kMaxWindowWrites));
  }

  // Samples windows of completions. Lost and retransmitted messages show as longer windows.
  Status sample(Context& context, std::size_t size_index, Stream& stream, Outcome& outcome) {
    const TickClock& clock = tick_clock(context);
    const Stream::Plan plan = plan_of(size_index);
    // With a fixed number: one group of each lane, because lanes complete in bursts.
    const std::uint64_t window_writes =
        plan.writes != 0 ? plan.signal_every * link_->options().lanes
                         : RG_TRY(choose_window(clock, stream, plan.signal_every));
    // Reserves all room before the first window.
    WindowMeter meter(stream, clock, window_writes, plan.writes);
    const auto bytes = static_cast<double>(sizes_[size_index]);
    SamplerOptions options = options_;
    options.fixed_samples = (plan.writes + window_writes - 1) / window_writes;
    Sampler sampler(context.clock, options);
    const std::uint64_t completed_before = stream.completed();
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      if (!link_->waiting().before_deadline() || !meter.batch(count)) return failure();
      for (const Window& window : meter.last(count))
        out.push_back(bytes * static_cast<double>(window.writes) /
                      (clock.to_ns(window.ticks) / 1e9));
      return {};
    };
    const auto renew = [&]() -> Status {
      stream.renew();
      host_cost_.start();
      return {};
    };
    book_.begin_work();
    Sampled sampled = RG_TRY(sampler.run(batch, renew));
    book_.end_work(static_cast<double>(stream.completed() - completed_before));
    const auto kept = meter.last(sampled.samples.size());
    outcome.measured = measured_by_windows(clock, std::move(sampled), kept, window_writes);
    return {};
  }

  // Counts completions in slots of 10 ms over a stretch of time, which both ranks share where both
  // stream.
  Status count_slots(Context& context, Stream& stream, Outcome& outcome, PeerStatus& mine) {
    const TickClock& clock = tick_clock(context);
    CommonBegin begin;
    if (!choose_begin(form_.both ? &*control_ : nullptr, clock, rank_, begin)) return failure();
    RG_TRY_OK(check_time_left(context, form_.duration_ns));
    TimeSlots& slots = outcome.slots = empty_slots(begin, clock, form_.duration_ns);
    // In direction both this thread also gives the peer's receives out again.
    ReceiveQueue* const receives =
        form_.both && link_->operation().takes_receive ? &link_->receives() : nullptr;
    const std::uint64_t completed_before = stream.completed();
    host_cost_.start();
    book_.begin_work();
    if (!count_in(slots, stream, receives, clock)) return failure();
    book_.end_work(static_cast<double>(stream.completed() - completed_before));
    outcome.uncertainty_ns = begin.uncertainty_ns;
    mine.set_longest_stall_ns(static_cast<std::uint64_t>(clock.to_ns(slots.longest_stall_ticks)));
    if (form_.both) mine.mutable_counts()->Assign(slots.counts.begin(), slots.counts.end());
    return {};
  }

  // Adds up the slots of this rank and, in direction both, the other rank's.
  Status add_slots(const Context& context, const Told& told, Outcome& outcome,
                   PointForm& form) const {
    // One row a rank, of equal length: both count in the same slots.
    std::vector<std::vector<std::uint32_t>> counts{outcome.slots.counts};
    if (form_.both) counts.emplace_back(told[1].counts().begin(), told[1].counts().end());
    if (counts.back().size() != counts[0].size())
      return fail(Code::kInternal, fmt::format("rank 1: counted in {} slots, not in {}",
                                               counts[1].size(), counts[0].size()));
    const SlotForm slots{.slot_seconds = tick_clock(context).to_ns(outcome.slots.slot_ticks) / 1e9,
                         .message_bytes = form.message_bytes,
                         .group = stream_plan(form_.plan, form.message_bytes).signal_every};
    outcome.measured = measured_by_slots(counts, slots);
    auto& facts = outcome.measured->facts;
    facts["longest_stall_ns"] =
        std::to_string(std::max(told[0].longest_stall_ns(), told[1].longest_stall_ns()));
    if (!form_.both) return {};
    facts["clock_uncertainty_ns"] = fmt::format("{:.0f}", outcome.uncertainty_ns);
    form.each = {add_direction("initiator", counts[0], slots, facts),
                 add_direction("target", counts[1], slots, facts)};
    return {};
  }

  // Makes the points of a size. The facts record the origin of each figure: bytes in flight,
  // completions per group, CPU, counters, and on unreliable transports the share that arrived.
  Status report(Context& context, std::size_t size_index, Outcome& outcome, const Told& told,
                const Told& closed) const {
    PointForm form{.message_bytes = sizes_[size_index],
                   .meaning = std::string(form_.both ? "bidirectional_sum" : "unidirectional") +
                              (counts_arrivals() ? "" : "_posted"),
                   .directions = form_.both ? 2U : 1U,
                   .line_rate = line_rate_between(link_->device(), link_->mine(), link_->peer()),
                   .precision = options_.relative_half_width};
    if (form_.duration_ns > 0) RG_TRY_OK(add_slots(context, told, outcome, form));
    // The facts below hold for windows and slots alike.
    auto& facts = outcome.measured->facts;
    facts["bytes_in_flight"] =
        std::to_string(form_.plan.depth * link_->options().lanes * sizes_[size_index]);
    facts["signal_every"] = std::to_string(plan_of(size_index).signal_every);
    if (form_.plan.paced_rate > 0)
      facts["paced"] = fmt::format("by the CPU to {:.4g} Gb/s, {} messages at once",
                                   form_.plan.paced_rate * 8 / 1e9, form_.plan.burst);
    facts["buffer"] = buffer_words(*link_);
    add_bandwidth_accounts(closed, form.message_bytes, facts);
    if (!counts_arrivals()) {
      facts["counted"] = "messages posted, lost ones among them";
      context.reporter.note(
          "warning",
          fmt::format("{}: writes of an unreliable connection are counted as they leave; "
                      "what got lost is in the figure, and RC or write_imm counts arrivals",
                      link_->device().endpoint()));
    }
    if (link_->operation().takes_receive && !link_->is_reliable()) {
      // Unreliable transports lose messages without an error: the share that arrived scales the
      // figure.
      const std::uint64_t sent = told[0].posted() + told[1].posted();
      const std::uint64_t arrived = told[0].arrived() + told[1].arrived();
      form.delivered = static_cast<double>(arrived) / static_cast<double>(sent);
      facts["messages_sent"] = std::to_string(sent);
      facts["messages_arrived"] = std::to_string(arrived);
      if (arrived == 0)
        return fail(Code::kUnavailable,
                    fmt::format("{}: none of {} messages arrived at {}", link_->device().endpoint(),
                                sent, link_->peer().endpoint()));
    }
    double bytes_per_second = 0;
    for (Point& point : RG_TRY(make_points(context, std::move(*outcome.measured), form))) {
      if (point.metric() == kBandwidthMetric) bytes_per_second = point.rate();
      point.set_verified(context.params.boolean("verify"));
      if (link_->memory().is_synthetic()) point.set_synthetic(true);
      add_proof(point);
      context.reporter.point(std::move(point));
    }
    report_host_cost(context, closed, form.message_bytes, bytes_per_second);
    return {};
  }

  // Compare-and-swap replaces fetch-and-add in the link's options alone.
  Verb verb_;
  // Length of the common interval is 0 where samples decide.
  StreamForm form_;
};

}  // namespace

std::unique_ptr<Kernel> make_bandwidth(Verb verb) { return std::make_unique<Bandwidth>(verb); }

}  // namespace railgauge::verbs

// The class behind the six bandwidth kernels. Rank 0 streams posts over one or more queue pairs and
// counts completions; rank 1 stays passive, sinks messages that use up receives, or streams too
// (direction both). Each size runs in four steps that both ranks end together: set up the areas,
// run, exchange the numbers, verify and close the accounts. kernels/verbs/write_bw.cc states how a
// sample is made.
#include "kernels/verbs/bandwidth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/cpu_time.h"
#include "kernels/core/sampler.h"
#include "kernels/core/text/units.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/common_clock.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/rails/rails.h"
#include "kernels/verbs/staged/by_memory.h"
#include "kernels/verbs/stream/bandwidth_points.h"
#include "kernels/verbs/stream/link_stream.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/stream/stream.h"
#include "kernels/verbs/stream/stream_form.h"
#include "kernels/verbs/stream/time_slots.h"
#include "kernels/verbs/transport/account.h"
#include "kernels/verbs/transport/agreement.h"

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
constexpr double kLeadNs = 50e6;  // the stream runs this long before its slots begin

// One thread per rank. An instance measures once: prepare, connect, measure.
class Bandwidth final : public Kernel {
 public:
  explicit Bandwidth(Verb verb) : verb_(verb) {}

  // Reads the parameters, opens the port and makes the queues. Several `devices` hand the whole
  // task over to the rails kernel.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    if (!params.text("devices").empty()) {
      rails_ = make_rails(verb_);
      return rails_->prepare(context);
    }
    Link::Options options = link_options(params, verb_);
    choose_memory(context, options);
    const Operation& does = operation_of(options.verb);
    sizes_ =
        does.is_atomic() ? std::vector{std::uint64_t{kAtomicBytes}} : params.bytes_list("sizes");
    const StreamForm form = RG_TRY(stream_form(params));
    plan_ = form.plan;
    both_ = form.both;
    duration_ns_ = form.duration_ns;
    options_ = RG_TRY(sampler_options(params));
    options_.batch = kWindowsInBatch;
    options.lanes = static_cast<std::uint32_t>(params.integer("qps"));
    // The adapter's limits are checked where the queues are made.
    options.send_depth = static_cast<std::uint32_t>(plan_.depth);
    options.largest_bytes = *std::ranges::max_element(sizes_);
    options.area_bytes = area_bytes_for(does, options.largest_bytes, options.lanes);
    options.sleeps = params.text("poll") == "events";
    if (!does.is_atomic()) options.relaxed_ordering = params.boolean("relaxed_ordering");
    if (does.takes_receive)
      options.receive_depth = static_cast<std::uint32_t>(params.integer("receive_depth"));
    if (does.verb == Verb::kSend) options.shares_receives = params.boolean("srq");
    link_ = RG_TRY(Link::open(context, options));
    // A target that takes receives must know when the stream ends; two streams need a common begin.
    if (does.takes_receive || both_) control_ = RG_TRY(ControlChannel::open(*link_));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    if (rails_) return rails_->connect(context, group);
    rank_ = group.rank();
    RG_TRY_OK(link_->connect(context, group));
    if (control_) RG_TRY_OK(control_->connect(context, *link_, group));
    link_->report_facts(context.reporter);
    book_.set_port(link_->device());
    book_.report_fact(context.reporter);
    return {};
  }

  // Measures the sizes in turn and stops at the first that fails. Points of earlier sizes stay
  // valid.
  Status measure(Context& context, Group& group) override {
    if (rails_) return rails_->measure(context, group);
    link_->waiting().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                                context.params.duration_ns("stall_timeout"));
    Status here;
    for (std::size_t i = 0; i < sizes_.size() && here; ++i) here = measure_size(context, group, i);
    note_troubles(book_, link_->device(), here, context.reporter);
    return here;
  }

 private:
  // The result of one size on this rank.
  struct Outcome {
    // The numbers for the peer: posted, arrived, slots, and in direction both the counts per slot.
    PeerStatus told;
    std::optional<Measured> measured;
    // Used instead of windows where a duration is given.
    TimeSlots slots;
    double uncertainty_ns = 0;
  };

  // The plan of one size: huge messages complete in smaller groups.
  [[nodiscard]] Stream::Plan plan_of(std::size_t size_index) const;
  Status measure_size(Context& context, Group& group, std::size_t size_index);
  // Everything between the two agreements of a size, on either rank.
  Status run_own_part(Context& context, std::size_t size_index, const Layout& layout,
                      Outcome& outcome);
  // Windows until the stop rule or the fixed number of writes.
  Status sample(Context& context, std::size_t size_index, Stream& stream, Outcome& outcome);
  Status count_slots(Context& context, Stream& stream, Outcome& outcome);
  Status end_common(const TickClock& clock, Stream& stream, Outcome& outcome);
  // Posts in a window. Runs the stream, which also warms it up.
  Result<std::uint64_t> choose_window(const TickClock& clock, Stream& stream,
                                      std::uint64_t signal_every);
  // Points of one size, on rank 0. kDataLoss above the line rate; kUnavailable where nothing
  // arrived.
  Status report(Context& context, std::size_t size_index, Outcome& outcome,
                const std::vector<PeerStatus>& told, const std::vector<PeerStatus>& closed) const;
  // CPU and port counters of both ends.
  void add_accounts(std::size_t size_index, const std::vector<PeerStatus>& closed,
                    std::map<std::string, std::string>& facts) const;

  [[nodiscard]] tl::unexpected<Error> failure() const {
    return tl::unexpected(link_->waiting().failure());
  }
  // Whether lost messages are subtracted. Nobody learns of the arrival of an unreliable write: its
  // figure counts the bytes that left the initiator, which has a meaning of its own, so nothing
  // compares it with arrived bytes.
  [[nodiscard]] bool counts_arrivals() const {
    return link_->is_reliable() || link_->operation().takes_receive;
  }
  // Whether this rank posts the stream; the other one's CPU stays idle where it can.
  [[nodiscard]] bool streams() const { return both_ || rank_ == 0; }

  // Set at construction; compare-and-swap replaces fetch-and-add in the link's options alone.
  Verb verb_;
  // Bytes of a message, in the order of the parameter; 8 for atomics.
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  Stream::Plan plan_;
  // Direction both: rank 1 streams as well.
  bool both_ = false;
  // Length of the common interval; 0 samples until the estimate is precise.
  double duration_ns_ = 0;
  std::unique_ptr<Kernel> rails_;  // does it all where several devices are named
  std::unique_ptr<Link> link_;
  std::optional<ControlChannel> control_;  // after the link, whose domain it is registered in
  AccountBook book_;
  std::uint32_t rank_ = 0;
};

Stream::Plan Bandwidth::plan_of(std::size_t size_index) const {
  return stream_plan(plan_, sizes_[size_index]);
}

// One size on both ranks. A failure on one side reaches the other through the next agreement, so
// neither waits for its stall limit. The accounts open before the first agreement and close after
// the last message, so the port's counters cover all traffic of the size.
Status Bandwidth::measure_size(Context& context, Group& group, std::size_t size_index) {
  const bool verified = context.params.boolean("verify");
  const Layout layout = stream_layout(*link_, sizes_[size_index]);
  Status here = set_up_areas(*link_, layout, size_index, rank_);
  if (here && link_->operation().takes_receive) {
    const Parts parts{.sends = streams(), .receives = both_ || rank_ == 1};
    if (size_index > 0)
      here = use_up_receives(*link_, *control_, tick_clock(context), parts, rank_);
    if (here) here = renew_receives(*link_, layout.target, parts, size_index > 0);
  }
  book_.open();  // before the other side may begin
  RG_TRY_OK(agree(group, here, seconds_left(context)));
  Outcome outcome;
  here = run_own_part(context, size_index, layout, outcome);
  if (!here && control_) control_->abort();
  // Verification reads both ranks' numbers: the target compares as much as the initiator posted.
  const auto told = RG_TRY(agree_on(group, here, outcome.told, seconds_left(context)));
  const StreamEnds ends{.size_index = size_index, .rank = rank_, .both = both_};
  PeerStatus closing;
  *closing.add_accounts() = book_.close();
  const auto closed = RG_TRY(agree_on(
      group,
      verified ? verify_stream(*link_, layout, ends, told[rank_], told[1 - rank_]) : Status{},
      std::move(closing), seconds_left(context)));
  if (rank_ != 0) return {};
  return report(context, size_index, outcome, told, closed);
}

// The passive target of writes, reads and atomics sleeps in the group until the initiator has
// measured: its CPU takes no part, and a lost initiator ends it at once.
Status Bandwidth::run_own_part(Context& context, std::size_t size_index, const Layout& layout,
                               Outcome& outcome) {
  const bool takes = link_->operation().takes_receive;
  if (!streams()) {
    if (!takes) return {};
    book_.begin_work();
    if (!sink_messages(*link_, *control_, tick_clock(context))) return failure();
    book_.end_work(static_cast<double>(link_->receives().arrived()));
    outcome.told.set_arrived(link_->receives().arrived());
    return {};
  }
  const std::vector<Request> made = stream_requests(*link_, sizes_[size_index]);
  Stream stream(link_->sends(), tick_clock(context), made, plan_of(size_index),
                stream_aim(*link_, layout));
  RG_TRY_OK(duration_ns_ > 0 ? count_slots(context, stream, outcome)
                             : sample(context, size_index, stream, outcome));
  if (both_) RG_TRY_OK(end_common(tick_clock(context), stream, outcome));
  if (!stream.finish()) return failure();
  RG_CHECK(link_->sends().in_flight() == 0);  // else the next size would count these
  outcome.told.set_posted(stream.posted());
  outcome.told.set_slots_written(stream.slots_written());
  if (!both_ && takes && !control_->send(ControlWord::of(Order::kDone, stream.posted())))
    return failure();
  return {};
}

// How many posts make a window: whole groups, for about kWindowNs.
Result<std::uint64_t> Bandwidth::choose_window(const TickClock& clock, Stream& stream,
                                               std::uint64_t signal_every) {
  if (!stream.top_up() || stream.retire() < 0 || !stream.top_up()) return failure();
  const std::uint64_t begin = clock.ticks();
  std::uint64_t writes = 0;
  double spent_ns = 0;
  while (writes < kProbeGroups * signal_every && spent_ns < kWindowNs) {
    const std::int64_t retired = stream.retire();
    if (retired < 0 || !stream.top_up()) return failure();
    writes += static_cast<std::uint64_t>(retired);
    spent_ns = clock.to_ns(clock.ticks() - begin);
  }
  // Time of one group, from which follows how many groups fill a window.
  const double group_ns =
      std::max(1.0, spent_ns) * static_cast<double>(signal_every) / static_cast<double>(writes);
  const auto groups = static_cast<std::uint64_t>(std::ceil(kWindowNs / group_ns));
  return std::clamp(groups * signal_every, signal_every, std::max(signal_every, kMaxWindowWrites));
}

// Samples windows of completions. Lost and retransmitted messages show as longer windows.
Status Bandwidth::sample(Context& context, std::size_t size_index, Stream& stream,
                         Outcome& outcome) {
  const TickClock& clock = tick_clock(context);
  const Stream::Plan plan = plan_of(size_index);
  // With a fixed number: one group of each lane, because lanes complete in bursts.
  const std::uint64_t window_writes = plan.writes != 0
                                          ? plan.signal_every * link_->options().lanes
                                          : RG_TRY(choose_window(clock, stream, plan.signal_every));
  // Reserves all room before the first window.
  WindowMeter meter(stream, clock, window_writes, plan.writes);
  const auto bytes = static_cast<double>(sizes_[size_index]);
  SamplerOptions options = options_;
  options.fixed_samples = (plan.writes + window_writes - 1) / window_writes;
  Sampler sampler(context.clock, options);
  const std::uint64_t completed_before = stream.completed();
  book_.begin_work();
  Sampled sampled = RG_TRY(sampler.run([&](std::uint64_t count,
                                           std::vector<double>& out) -> Status {
    if (!link_->waiting().before_deadline() || !meter.batch(count)) return failure();
    for (const Window& window : meter.last(count))
      out.push_back(bytes * static_cast<double>(window.writes) / (clock.to_ns(window.ticks) / 1e9));
    return {};
  }));
  book_.end_work(static_cast<double>(stream.completed() - completed_before));
  const auto kept = meter.last(sampled.samples.size());
  outcome.measured = measured_by_windows(clock, std::move(sampled), kept, window_writes);
  return {};
}

// Counts completions in slots of 10 ms over a stretch of time, which both ranks share where both
// stream.
Status Bandwidth::count_slots(Context& context, Stream& stream, Outcome& outcome) {
  const TickClock& clock = tick_clock(context);
  const auto lead = static_cast<std::uint64_t>(kLeadNs / clock.ns_per_tick());
  CommonBegin begin{clock.ticks() + lead, 0};
  if (both_ && !agree_on_begin(*control_, clock, rank_, kLeadNs, begin)) return failure();
  TimeSlots& slots = outcome.slots;
  slots.begin_ticks = begin.ticks;
  slots.slot_ticks = static_cast<std::uint64_t>(kSlotNs / clock.ns_per_tick());
  slots.counts.resize(static_cast<std::size_t>(duration_ns_ / kSlotNs));
  // Checked before the streams start: half an interval is no result.
  if (seconds_left(context) * 1e9 < kLeadNs + duration_ns_)
    return fail(Code::kDeadlineExceeded,
                fmt::format("parameter duration: {} ends after the task's deadline",
                            canonical_duration(duration_ns_)));
  // In direction both this thread also gives the peer's receives out again.
  ReceiveQueue* const receives =
      both_ && link_->operation().takes_receive ? &link_->receives() : nullptr;
  const std::uint64_t completed_before = stream.completed();
  book_.begin_work();
  if (!count_in(slots, stream, receives, clock)) return failure();
  book_.end_work(static_cast<double>(stream.completed() - completed_before));
  outcome.uncertainty_ns = begin.uncertainty_ns;
  outcome.told.set_longest_stall_ns(
      static_cast<std::uint64_t>(clock.to_ns(slots.longest_stall_ticks)));
  if (both_) outcome.told.mutable_counts()->Assign(slots.counts.begin(), slots.counts.end());
  return {};
}

// Both sides' last messages, each of which may wait for a receive of the other side's.
Status Bandwidth::end_common(const TickClock& clock, Stream& stream, Outcome& outcome) {
  if (!link_->operation().takes_receive) return {};
  if (!stream.close() || !finish_and_sink(*link_, *control_, clock, stream.posted()))
    return failure();
  outcome.told.set_arrived(link_->receives().arrived());
  return {};
}

// Facts without a prefix are this rank's, facts with "peer_" the other's.
void Bandwidth::add_accounts(std::size_t size_index, const std::vector<PeerStatus>& closed,
                             std::map<std::string, std::string>& facts) const {
  for (std::size_t rank = 0; rank < closed.size(); ++rank) {
    const std::string prefix = rank == rank_ ? "" : "peer_";
    for (const Account& account : closed[rank].accounts()) {
      add_bandwidth_cost({account.cpu_ns(), account.messages()},
                         static_cast<double>(sizes_[size_index]), prefix, facts);
      add_port_counters(account, prefix, facts);
    }
  }
}

// Makes the points of a size. The facts say how each figure came about: bytes in flight,
// completions per group, CPU, counters, and on unreliable transports the share that arrived.
Status Bandwidth::report(Context& context, std::size_t size_index, Outcome& outcome,
                         const std::vector<PeerStatus>& told,
                         const std::vector<PeerStatus>& closed) const {
  PointForm form{.message_bytes = sizes_[size_index],
                 .meaning = std::string(both_ ? "bidirectional_sum" : "unidirectional") +
                            (counts_arrivals() ? "" : "_posted"),
                 .directions = both_ ? 2U : 1U,
                 .line_rate = line_rate_between(link_->device(), link_->mine(), link_->peer()),
                 .precision = options_.relative_half_width};
  if (duration_ns_ > 0) {
    // One row a rank, of equal length: both count in the same slots.
    std::vector<std::vector<std::uint32_t>> counts{outcome.slots.counts};
    std::uint64_t stall_ns = told[0].longest_stall_ns();
    if (both_) {
      counts.emplace_back(told[1].counts().begin(), told[1].counts().end());
      if (counts[1].size() != counts[0].size())
        return fail(Code::kInternal, fmt::format("rank 1: counted in {} slots, not in {}",
                                                 counts[1].size(), counts[0].size()));
      stall_ns = std::max(stall_ns, told[1].longest_stall_ns());
    }
    const SlotForm slots{.slot_seconds = tick_clock(context).to_ns(outcome.slots.slot_ticks) / 1e9,
                         .message_bytes = form.message_bytes,
                         .group = plan_of(size_index).signal_every};
    outcome.measured = measured_by_slots(counts, slots);
    outcome.measured->facts["longest_stall_ns"] = std::to_string(stall_ns);
    if (both_) {
      outcome.measured->facts["clock_uncertainty_ns"] =
          fmt::format("{:.0f}", outcome.uncertainty_ns);
      form.each = {add_direction("initiator", counts[0], slots, outcome.measured->facts),
                   add_direction("target", counts[1], slots, outcome.measured->facts)};
    }
  }
  // The facts below hold for windows and slots alike.
  auto& facts = outcome.measured->facts;
  facts["bytes_in_flight"] =
      std::to_string(plan_.depth * link_->options().lanes * sizes_[size_index]);
  facts["signal_every"] = std::to_string(plan_of(size_index).signal_every);
  add_accounts(size_index, closed, facts);
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
  for (Point& point : RG_TRY(make_points(context, std::move(*outcome.measured), form))) {
    point.set_verified(context.params.boolean("verify"));
    if (link_->memory().is_synthetic()) point.set_synthetic(true);
    context.reporter.point(std::move(point));
  }
  return {};
}

}  // namespace

std::unique_ptr<Kernel> make_bandwidth(Verb verb) {
  return by_memory([verb] { return std::make_unique<Bandwidth>(verb); }, verb,
                   StagedFigure::kBandwidth);
}

}  // namespace railgauge::verbs

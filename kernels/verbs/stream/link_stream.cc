#include "kernels/verbs/stream/link_stream.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/agreement.h"
#include "kernels/core/text/units.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/link/parameters.h"

namespace railgauge::verbs {
namespace {

constexpr double kLeadNs = 50e6;  // the stream runs this long before its slots begin
constexpr double kBothNs = 2e9;   // the common interval where no duration is given
constexpr double kBytesOfGigabit = 1e9 / 8;
constexpr double kLongestBurstNs = 100e6;
constexpr double kMaxBothNs = 100e9;  // its slots travel through the group in one message

// kInvalidArgument where the queue would fill before its first completion.
Status check_depth(const Stream::Plan& plan) {
  if (plan.signal_every > plan.depth)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter signal_every: {} is above depth, which is {}: the queue "
                            "would fill before the first completion",
                            plan.signal_every, plan.depth));
  if (plan.signal_every + plan.post_list > plan.depth + 1)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter post_list: {} and signal_every {} need a depth of {} or "
                            "more, and depth is {}",
                            plan.post_list, plan.signal_every,
                            plan.signal_every + plan.post_list - 1, plan.depth));
  return {};
}

// Rejects parameters that a given duration excludes.
Status check_duration(const Params& params, const StreamForm& form) {
  if (!form.both && form.duration_ns == 0) return {};
  const auto without = [&](std::string_view other) {
    return fail(Code::kInvalidArgument,
                fmt::format("parameter {}: is not for a stretch of time; leave it out, or leave "
                            "out {}",
                            other, form.both ? "direction both" : "duration"));
  };
  if (form.plan.writes != 0) return without("iterations");
  if (form.plan.added_cost > 0) return without("added_cost_fraction");
  if (form.duration_ns != 0 && form.duration_ns < kSlotNs)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter duration: {} is shorter than a slot, which is 10 ms",
                            canonical_duration(form.duration_ns)));
  if (!form.both) return {};
  if (form.duration_ns > kMaxBothNs)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter duration: {} is above {}, the most for direction both",
                            canonical_duration(form.duration_ns), canonical_duration(kMaxBothNs)));
  if (params.text("poll") == "events")
    return fail(Code::kInvalidArgument,
                "parameter poll: events is not for direction both, where each side has two queues "
                "to look at; take busy");
  return {};
}

// A rate that the CPU keeps; the adapter's own is set where its queue pairs are made.
Status read_pace(const Params& params, Stream::Plan& plan) {
  const double rate = params.number("rate_limit") * kBytesOfGigabit;
  if (rate == 0 || params.text("rate_limit_by") != "software") return {};
  plan.paced_rate = rate;
  plan.burst = static_cast<std::uint64_t>(params.integer("rate_burst"));
  if (plan.burst > plan.depth)
    return invalid("parameter rate_burst: {} is above depth, which is {}", plan.burst, plan.depth);
  if (plan.added_cost > 0 || params.text("poll") == "events")
    return invalid(
        "parameter rate_limit: the CPU that keeps a rate polls and does nothing else; "
        "leave out poll and added_cost_fraction, or take rate_limit_by hardware");
  return {};
}

// Returns how many of the first slots surely hold a message of after the renewal, once all have
// arrived. Lanes that share slots overtake each other, so each lane must have passed the slot;
// sends take the receives of their ring in turn, which in a cold one go through all slots.
// Where messages overtake each other, an old one may come last.
std::uint64_t slots_renewed(const Link& link, const Stream& stream) {
  if (!link.is_reliable() || !link.is_ordered()) return 0;
  const std::uint64_t fewest = stream.fewest_renewed();
  if (link.operation().verb != Verb::kSend) return fewest;
  const Slots& slots = stream.slots();
  const bool is_cold = is_cold_ring(slots);
  return fewest >= (is_cold ? slots.count : link.options().receive_depth) ? fewest : 0;
}

}  // namespace

// Direction both without a duration takes 2 s.
Result<StreamForm> stream_form(const Params& params) {
  const auto number = [&params](std::string_view name) {
    return static_cast<std::uint64_t>(params.integer(name));
  };
  StreamForm form{.plan = {.depth = number("depth"),
                           .signal_every = number("signal_every"),
                           .post_list = number("post_list"),
                           .writes = number("iterations"),
                           .added_cost = params.number("added_cost_fraction")},
                  .both = params.text("direction") == "both",
                  .duration_ns = params.duration_ns("duration")};
  RG_TRY_OK(read_pace(params, form.plan));
  RG_TRY_OK(check_completions(params));
  // Posts of SRD complete in any order, so each retires itself alone.
  if (params.text("transport") == "SRD") form.plan.signal_every = 1;
  RG_TRY_OK(check_depth(form.plan));
  RG_TRY_OK(check_duration(params, form));
  if (form.both && form.duration_ns == 0) form.duration_ns = kBothNs;
  return form;
}

// A burst that takes long makes the deadline and the samples coarse, so it is refused before a
// link is made.
Status check_pace(const Stream::Plan& plan, std::uint64_t largest_bytes) {
  const Stream::Plan paced = stream_plan(plan, largest_bytes);
  const double burst_ns = paced.message_ns * static_cast<double>(paced.burst);
  if (burst_ns <= kLongestBurstNs) return {};
  return invalid(
      "parameter rate_limit: {} messages of {} take {}, above {}; take a higher rate, a "
      "smaller burst or smaller sizes",
      paced.burst, canonical_bytes(largest_bytes), canonical_duration(burst_ns),
      canonical_duration(kLongestBurstNs));
}

Link::Ordering ordering_of(const Params& params) {
  const std::string& word = params.text("relaxed_ordering");
  // A staging is never relaxed, so its direct twin is not either: the two differ in nothing else.
  if (word == "auto" && !params.boolean("staged_twin")) return Link::Ordering::kRelaxedIfPossible;
  return word == "on" ? Link::Ordering::kRelaxed : Link::Ordering::kStrict;
}

void choose_places(const Params& params, Link::Options& options) {
  if (params.text("buffer") != "cold") return;
  options.ring_bytes = kColdRingBytes;
  options.area_bytes = std::max(options.area_bytes, kColdRingBytes);
}

// A source of sends has a second ring for the content of after the renewal.
void add_stream_options(const Params& params, const Stream::Plan& plan, Link::Options& options) {
  const Operation& does = operation_of(options.verb);
  options.lanes = static_cast<std::uint32_t>(params.integer("qps"));
  options.send_depth = static_cast<std::uint32_t>(plan.depth);
  options.area_bytes = area_bytes_for(does, options.largest_bytes, options.lanes);
  if (!does.is_atomic()) choose_places(params, options);
  if (options.ring_bytes > kHotRingBytes) {
    const std::size_t more = does.verb == Verb::kSend ? kColdRingBytes : 0;
    options.area_bytes = std::max(options.area_bytes, kColdRingBytes + more + kRenewedBytes);
  }
  options.sleeps = params.text("poll") == "events";
  options.completion_vector = static_cast<std::uint32_t>(params.integer("completion_vector"));
  options.posts_extended = params.text("post") == "extended";
  if (params.text("rate_limit_by") == "hardware") {
    constexpr double kKilobitsOfGigabit = 1e6;
    options.rate_limit_kbps =
        static_cast<std::uint32_t>(params.number("rate_limit") * kKilobitsOfGigabit);
    // A burst of 4 GiB or more is no bound to an adapter.
    options.burst_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        static_cast<std::uint64_t>(params.integer("rate_burst")) * options.largest_bytes,
        UINT32_MAX));
  }
  if (!does.is_atomic()) options.ordering = ordering_of(params);
  if (does.takes_receive)
    options.receive_depth = static_cast<std::uint32_t>(params.integer("receive_depth"));
  if (does.verb == Verb::kSend && params.boolean("srq")) options.shares_receives = true;
}

std::vector<Request> stream_requests(const Link& link, std::uint64_t message_bytes) {
  std::vector<Request> all;
  for (std::uint32_t lane = 0; lane < link.options().lanes; ++lane)
    all.push_back(link.request(message_bytes, lane));
  return all;
}

// Each operation's use of the slots.
Stream::Aim stream_aim(const Link& link, const Layout& layout) {
  const Operation& does = link.operation();
  return {.slots = layout.source,
          .each_lane_its_own = does.is_atomic(),
          .is_remote = does.is_aimed(),
          .counts_laps = does.verb == Verb::kCompareSwap,
          .renewed_here = does.fetches ? 0 : renewal_offset(layout.source),
          .renewed_there = does.verb == Verb::kRead ? renewal_offset(layout.source) : 0};
}

const char* buffer_words(const Link& link) {
  return link.options().ring_bytes > kHotRingBytes ? "cold" : "hot";
}

Status set_up_stream(const Link& link, const Layout& layout, std::size_t size_index,
                     std::uint32_t rank) {
  RG_TRY_OK(set_up_areas(link, layout, size_index, rank));
  return set_up_renewal(link, layout, size_index, rank);
}

Stream::Plan stream_plan(Stream::Plan plan, std::uint64_t message_bytes) {
  // At 10 Gb/s a group of 8 MiB completes within 7 ms.
  constexpr std::uint64_t kMaxGroupBytes = 8U << 20U;
  plan.signal_every =
      std::clamp<std::uint64_t>(kMaxGroupBytes / message_bytes, 1, plan.signal_every);
  if (plan.paced_rate > 0) {
    plan.message_ns = static_cast<double>(message_bytes) / plan.paced_rate * 1e9;
    plan.signal_every = std::min(plan.signal_every, plan.burst);
  }
  return plan;
}

bool choose_begin(ControlChannel* control, const TickClock& clock, std::uint32_t rank,
                  CommonBegin& begin) {
  if (control != nullptr) return agree_on_begin(*control, clock, rank, kLeadNs, begin);
  begin = {clock.ticks() + static_cast<std::uint64_t>(kLeadNs / clock.ns_per_tick()), 0};
  return true;
}

// Checked before the streams start: half an interval is not a result.
Status check_time_left(const Context& context, double duration_ns) {
  if (seconds_left(context) * 1e9 >= kLeadNs + duration_ns) return {};
  return fail(Code::kDeadlineExceeded,
              fmt::format("parameter duration: {} ends after the task's deadline",
                          canonical_duration(duration_ns)));
}

TimeSlots empty_slots(const CommonBegin& begin, const TickClock& clock, double duration_ns) {
  TimeSlots slots;
  slots.begin_ticks = begin.ticks;
  slots.slot_ticks = static_cast<std::uint64_t>(kSlotNs / clock.ns_per_tick());
  slots.counts.resize(static_cast<std::size_t>(duration_ns / kSlotNs));
  return slots;
}

Status sink_stream(const StreamPart& part, PeerStatus& mine) {
  part.book.begin_work();
  if (!sink_messages(part.link, *part.control, part.clock))
    return tl::unexpected(part.link.waiting().failure());
  mine.set_arrived(part.link.receives().arrived());
  part.book.end_work(static_cast<double>(mine.arrived()));
  return {};
}

// In direction both each side's last messages may wait for a receive of the other side's.
Status end_stream(const StreamPart& part, Stream& stream, PeerStatus& mine) {
  Link& link = part.link;
  const bool takes = link.operation().takes_receive;
  const auto failure = [&link] { return tl::unexpected(link.waiting().failure()); };
  if (part.both && takes) {
    if (!stream.close() || !finish_and_sink(link, *part.control, part.clock, stream.posted()))
      return failure();
    mine.set_arrived(link.receives().arrived());
  }
  if (!stream.finish()) return failure();
  RG_CHECK(link.sends().in_flight() == 0);  // else the next size would count these
  mine.set_posted(stream.posted());
  mine.set_slots_written(stream.slots_written());
  mine.set_slots_renewed(slots_renewed(link, stream));
  if (!part.both && takes && !part.control->send(ControlWord::of(Order::kDone, stream.posted())))
    return failure();
  return {};
}

// Rank 0's reads are verified where they arrived; everything else at the target.
Status verify_stream(Link& link, const Layout& layout, const StreamEnds& ends,
                     const PeerStatus& mine, const PeerStatus& theirs) {
  const Layout now = renewed(layout);
  Brought brought{.size_index = ends.size_index, .from = 1 - ends.rank};
  if (ends.both || ends.rank == 0) {
    brought.slots = mine.slots_written();
    brought.renewed = mine.slots_renewed();
    RG_TRY_OK(verify_fetched(link, now, brought));
  }
  if (!ends.both && ends.rank == 0) return {};
  brought.posted = theirs.posted();
  brought.slots = theirs.slots_written();
  brought.renewed = theirs.slots_renewed();
  if (link.operation().verb == Verb::kSend)
    brought.slots = slots_reached(link, layout.target, mine.arrived());
  if (!link.is_reliable() && brought.slots == 0) return {};  // the report says that all is lost
  return verify_target(link, now, brought);
}

}  // namespace railgauge::verbs

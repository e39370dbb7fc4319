// Latency of what the target's adapter answers without its CPU: one operation at a time, from the
// stamp before its post to the poll that finds its completion, a full round trip, which perftest
// reports likewise. The target sleeps in the group.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/latency.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/staged/by_memory.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/transport/account.h"
#include "kernels/verbs/transport/agreement.h"

namespace railgauge::verbs {
namespace {

// Rank 0 posts and polls; rank 1 takes part in set-up, verification and accounts alone.
class CompletionLatency final : public Kernel {
 public:
  explicit CompletionLatency(Verb verb) : verb_(verb) {}

  // Reads the parameters, opens the port and makes the queues for one operation in flight.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    Link::Options options = link_options(params, verb_);
    choose_memory(context, options);
    const Operation& does = operation_of(options.verb);
    sizes_ =
        does.is_atomic() ? std::vector{std::uint64_t{kAtomicBytes}} : params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(params));
    stamps_.resize(options_.batch + 1);
    options.largest_bytes = *std::ranges::max_element(sizes_);
    options.area_bytes = options.largest_bytes;
    options.sleeps = params.text("poll") == "events";
    link_ = RG_TRY(Link::open(context, options));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_->connect(context, group));
    link_->report_facts(context.reporter);
    book_.set_port(link_->device());
    book_.report_fact(context.reporter);
    return {};
  }

  // Measures the sizes in turn; a failed size ends the task and names the counters that grew.
  Status measure(Context& context, Group& group) override {
    link_->waiting().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                                context.params.duration_ns("stall_timeout"));
    Status here;
    for (std::size_t i = 0; i < sizes_.size() && here; ++i) here = measure_size(context, group, i);
    note_troubles(book_, link_->device(), here, context.reporter);
    return here;
  }

 private:
  // One size on both ranks, with an agreement before the first post, after the last and after the
  // verification.
  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    const bool verified = context.params.boolean("verify");
    const Layout layout = single_layout(*link_, sizes_[size_index]);
    const Status ready = set_up_areas(*link_, layout, size_index, rank_);
    book_.open();  // before the other side may begin
    RG_TRY_OK(agree(group, ready, seconds_left(context)));
    std::optional<Point> point;
    PeerStatus told;
    Status here;
    if (rank_ == 0) {
      auto measured = sample(context, size_index, told);
      if (measured)
        point = std::move(*measured);
      else
        here = tl::unexpected(measured.error());
    }
    const auto all = RG_TRY(agree_on(group, here, told, seconds_left(context)));
    PeerStatus closing;
    *closing.add_accounts() = book_.close();
    const auto closed =
        RG_TRY(agree_on(group, verified ? verify(layout, size_index, all[0].posted()) : Status{},
                        std::move(closing), seconds_left(context)));
    if (!point) return {};
    point->set_verified(verified);
    add_latency_account(closed[0].accounts(0), "", *point->mutable_facts());
    add_latency_account(closed[1].accounts(0), "peer_", *point->mutable_facts());
    context.reporter.point(std::move(*point));
    return {};
  }

  // The samples of one size in nanoseconds, on rank 0. Adds the number of posts to `told`.
  Result<Point> sample(Context& context, std::size_t size_index, PeerStatus& told) {
    const TickClock& clock = tick_clock(context);
    RoundTrip round_trip;
    round_trip.request = link_->request(sizes_[size_index]);
    round_trip.added_cost = context.params.number("added_cost_fraction");
    round_trip.counts_up = link_->operation().verb == Verb::kCompareSwap;
    Waiting& waiting = link_->waiting();
    std::uint64_t posted = 0;
    Sampler sampler(context.clock, options_);
    book_.begin_work();
    const Sampled sampled =
        RG_TRY(sampler.run([&](std::uint64_t count, std::vector<double>& out) -> Status {
          // The sampler asks for at most one batch, for which the stamps have room.
          RG_CHECK(count < stamps_.size());
          if (!waiting.before_deadline() ||
              !complete_each(link_->sends(), round_trip, clock, count, stamps_.data()))
            return tl::unexpected(waiting.failure());
          posted += count;
          for (std::uint64_t i = 0; i < count; ++i)
            out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]));
          return {};
        }));
    book_.end_work(static_cast<double>(posted));
    told.set_posted(posted);
    // Every operation uses the same slot.
    told.set_slots_written(1);
    Point point = make_verbs_point({.metric = "latency_ns", .meaning = "completion", .unit = "ns"},
                                   sizes_[size_index], sampled, context.raw_samples);
    if (link_->memory().is_synthetic()) point.set_synthetic(true);
    (*point.mutable_facts())["clock_drift_ppm"] = fmt::format("{:.3f}", clock.drift_ppm());
    RG_TRY_OK(hold_to_line_rate(link_->device(), link_->mine(), link_->peer(), point));
    return point;
  }

  // Rank 1 verifies what writes and atomics left in its memory, rank 0 what its reads fetched.
  // kDataLoss.
  [[nodiscard]] Status verify(const Layout& layout, std::size_t size_index,
                              std::uint64_t posted) const {
    const Brought brought{
        .size_index = size_index, .from = 1 - rank_, .slots = 1, .posted = posted};
    if (rank_ == 1) return verify_target(*link_, layout, brought);
    RG_TRY_OK(verify_fetched(*link_, layout, brought));
    return link_->operation().is_atomic() ? verify_last_answer(posted) : Status{};
  }

  // An atomic returns the value before it. The last one therefore returns the number of those
  // before it; any other value means that an operation was lost or ran twice.
  [[nodiscard]] Status verify_last_answer(std::uint64_t posted) const {
    std::uint64_t found = 0;
    RG_TRY_OK(link_->memory().read(0, std::as_writable_bytes(std::span(&found, 1))));
    if (found + 1 == posted) return {};
    return fail(Code::kDataLoss, fmt::format("{}: verify {}: operation {} found {}, expected {}",
                                             link_->device().endpoint(), link_->operation().words,
                                             posted, found, posted - 1));
  }

  Verb verb_;
  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  // Ticks before each post of a batch, and one after the last completion.
  std::vector<std::uint64_t> stamps_;
  std::unique_ptr<Link> link_;
  AccountBook book_;
  std::uint32_t rank_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_completion_latency(Verb verb) {
  return by_memory([verb] { return std::make_unique<CompletionLatency>(verb); }, verb,
                   StagedFigure::kLatency);
}

}  // namespace railgauge::verbs

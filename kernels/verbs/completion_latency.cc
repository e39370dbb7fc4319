// Latency of operations that the target's adapter answers without its CPU: one at a time, from the
// stamp before the post to the poll that finds its completion; a full round trip, as perftest
// reports it. The target sleeps in the group.
#include <optional>
#include <span>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/kernels.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/stream/link_kernel.h"
#include "kernels/verbs/stream/link_stream.h"

namespace railgauge::verbs {
namespace {

// Rank 0 posts and polls; rank 1 takes part in set-up, verification and accounts alone.
class CompletionLatency final : public LinkKernel {
 public:
  explicit CompletionLatency(Verb verb) : verb_(verb) {}

  Status prepare(Context& context) override {
    Link::Options options = RG_TRY(read(context, verb_));
    choose_memory(context, options);
    options.sleeps = context.params.text("poll") == "events";
    options.completion_vector =
        static_cast<std::uint32_t>(context.params.integer("completion_vector"));
    if (!operation_of(options.verb).is_atomic()) choose_places(context.params, options);
    if (operation_of(options.verb).may_relax_latency())
      options.ordering = ordering_of(context.params);
    return open(context, options, false);
  }

 private:
  Status measure_size(Context& context, Group& group, std::size_t size_index) override {
    const Layout layout = latency_layout(*link_, sizes_[size_index]);
    std::optional<Point> point;
    return take_steps(
        context, group, set_up_areas(*link_, layout, size_index, rank_),
        {.run = [&](PeerStatus& mine) -> Status {
           if (rank_ == 0) point = RG_TRY(sample(context, size_index, layout, mine));
           return {};
         },
         .verify = [&](const Told& told) { return verify(layout, size_index, told[0]); },
         .report = [&](const Told&, const Told& closed) -> Status {
           add_latency_accounts(closed, *point->mutable_facts());
           add_proof(*point);
           context.reporter.point(std::move(*point));
           return {};
         }},
        Proving{.size_index = size_index});
  }

  // The samples of one size in nanoseconds, on rank 0. Adds the number of posts to `mine`.
  Result<Point> sample(Context& context, std::size_t size_index, const Layout& layout,
                       PeerStatus& mine) {
    const TickClock& clock = tick_clock(context);
    RoundTrip round_trip;
    round_trip.request = link_->request(sizes_[size_index]);
    round_trip.added_cost = context.params.number("added_cost_fraction");
    Walk walk{.from = round_trip.request.sge.addr,
              .to = round_trip.request.wr.wr.rdma.remote_addr,
              .stride = layout.target.stride_bytes,
              .slots = layout.target.count};
    if (link_->options().ring_bytes > kHotRingBytes) round_trip.walk = &walk;
    const auto ready = [&] {
      walk.begin();
      return renew_areas(*link_, layout, size_index, rank_);
    };
    round_trip.counts_up = link_->operation().verb == Verb::kCompareSwap;
    std::uint64_t posted = 0;
    Sampler sampler(context.clock, options_);
    book_.begin_work();
    const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      // The sampler asks for at most one batch, for which the stamps have room.
      RG_CHECK(count < stamps_.size());
      if (!link_->waiting().before_deadline() ||
          !complete_each(link_->sends(), round_trip, clock, count, stamps_.data()))
        return failure();
      posted += count;
      for (std::uint64_t i = 0; i < count; ++i)
        out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]));
      return {};
    };
    const Sampled sampled = RG_TRY(sampler.run(batch, ready));
    book_.end_work(static_cast<double>(posted));
    mine.set_posted(posted);
    mine.set_slots_written(round_trip.walk != nullptr ? walk.slots_used() : 1);
    return latency_point(context, "completion", size_index, sampled);
  }

  // Rank 1 verifies what writes and atomics left in its memory, rank 0 what its reads fetched.
  // kDataLoss.
  [[nodiscard]] Status verify(const Layout& layout, std::size_t size_index,
                              const PeerStatus& initiator) const {
    const std::uint64_t posted = initiator.posted();
    const Brought brought{.size_index = size_index,
                          .from = 1 - rank_,
                          .slots = initiator.slots_written(),
                          .posted = posted};
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
};

}  // namespace

std::unique_ptr<Kernel> make_completion_latency(Verb verb) {
  return std::make_unique<CompletionLatency>(verb);
}

}  // namespace railgauge::verbs

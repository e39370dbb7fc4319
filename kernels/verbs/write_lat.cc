// RDMA WRITE latency over one reliable connection: a ping-pong. Each side waits by polling the last
// byte of the message in its own memory, which adapters place last, then answers. One stamp stands
// before each post; a sample is half the time from one stamp to the next, so it is half a round
// trip, with the completion of the own write polled in between, as perftest does it. Relaxed
// ordering is no parameter here: with it the last byte would not have to come last.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/agreement.h"
#include "kernels/verbs/control_channel.h"
#include "kernels/verbs/link.h"
#include "kernels/verbs/parameters.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/report.h"

namespace railgauge::verbs {
namespace {

class WriteLatency final : public Kernel {
 public:
  Status prepare(Context& context) override {
    sizes_ = context.params.bytes_list("sizes");
    options_ = RG_TRY(sampler_options(context.params));
    stamps_.resize(options_.batch + 1);
    const auto signal_every = static_cast<std::uint32_t>(context.params.integer("signal_every"));
    link_ = RG_TRY(Link::open(
        context, {.area_bytes = *std::ranges::max_element(sizes_), .send_depth = signal_every}));
    control_ = RG_TRY(ControlChannel::open(link_));
    return {};
  }

  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    RG_TRY_OK(link_.connect(context, group));
    control_.connect(link_);
    link_.report_facts(context.reporter);
    return {};
  }

  Status measure(Context& context, Group& group) override {
    link_.queue().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                             context.params.duration_ns("stall_timeout"));
    const Status here = rank_ == 0 ? measure_all(context) : serve_all(context);
    if (link_.queue().failed()) control_.abort(link_.queue());
    // The other rank is at most one wait behind.
    const double stall_seconds = context.params.duration_ns("stall_timeout") / 1e9;
    return agree(group, here, std::min(seconds_left(context), stall_seconds + kTellSeconds));
  }

 private:
  [[nodiscard]] tl::unexpected<Error> queue_failure() {
    return tl::unexpected(link_.queue().failure());
  }

  // Both sides, before the first ball: the last byte must not look like an answer already.
  Volley volley(const Context& context, std::size_t size_index) const {
    const std::size_t last = sizes_[size_index] - 1;
    Volley made;
    made.request = link_.write_request(sizes_[size_index]);
    made.last_out = reinterpret_cast<std::uint8_t*>(link_.send_area().data()) + last;
    made.last_in = reinterpret_cast<std::uint8_t*>(link_.receive_area().data()) + last;
    made.signal_every = static_cast<std::uint64_t>(context.params.integer("signal_every"));
    made.added_cost = context.params.number("added_cost_fraction");
    __atomic_store_n(made.last_in, 0, __ATOMIC_RELAXED);
    return made;
  }

  Status measure_all(Context& context) {
    Status measured = [&]() -> Status {
      for (std::size_t i = 0; i < sizes_.size() && !peer_found_mismatch_; ++i)
        RG_TRY_OK(measure_size(context, i));
      return {};
    }();
    if (link_.queue().failed()) return measured;
    if (!control_.send(link_.queue(), Order::kDone, 0, 0) && measured) return queue_failure();
    return measured;
  }

  // Before a size's first ball: what this side sends, and nothing yet of what it shall get.
  void set_up_areas(std::size_t size_index) {
    const Slots message{.bytes = sizes_[size_index]};
    fill_slots(link_.send_area(), message, size_index, rank_);
    clear_slots(link_.receive_area(), message);
  }

  Status measure_size(Context& context, std::size_t size_index) {
    const TickClock& clock = tick_clock(context);
    set_up_areas(size_index);
    Volley own = volley(context, size_index);
    Sampler sampler(context.clock, options_);
    const Sampled sampled = RG_TRY(sampler.run([&](std::uint64_t count, std::vector<double>& out) {
      return batch(clock, own, size_index, count, out);
    }));
    const bool verified = context.params.boolean("verify");
    if (verified) RG_TRY_OK(verify(size_index));
    if (peer_found_mismatch_) return {};
    Point point = make_verbs_point({.metric = "latency_ns", .meaning = "half_rtt", .unit = "ns"},
                                   sizes_[size_index], sampled, context.raw_samples);
    point.set_verified(verified);
    auto& facts = *point.mutable_facts();
    facts["clock_drift_ppm"] = fmt::format("{:.3f}", clock.drift_ppm());
    facts["sent_inline"] = (own.request.flags & IBV_SEND_INLINE) != 0 ? "true" : "false";
    context.reporter.point(std::move(point));
    return {};
  }

  // Orders the target to answer, then plays; the samples are made after the last stamp.
  Status batch(const TickClock& clock, Volley& own, std::size_t size_index, std::uint64_t count,
               std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    SendQueue& queue = link_.queue();
    __atomic_store_n(own.last_in, 0, __ATOMIC_RELAXED);
    ControlWord ready;
    if (!queue.before_deadline() || !control_.send(queue, Order::kPingPong, size_index, count) ||
        !control_.receive(queue, ready) || !initiate(queue, own, clock, count, stamps_.data()))
      return queue_failure();
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]) / 2);
    return {};
  }

  // Has the last ball compared that went there, and compares the last one that came here.
  Status verify(std::size_t size_index) {
    SendQueue& queue = link_.queue();
    ControlWord word;
    if (!control_.send(queue, Order::kVerify, size_index, 0) || !control_.receive(queue, word))
      return queue_failure();
    peer_found_mismatch_ = word.order == Order::kMismatch;  // its own words come at the end
    if (peer_found_mismatch_) return {};
    return compare(size_index);
  }

  // All but the message's last byte: that is the ball's number, and the wait has seen it.
  [[nodiscard]] Status compare(std::size_t size_index) const {
    return verify_slots(link_.receive_area(), {.bytes = sizes_[size_index]}, size_index, 1 - rank_,
                        1, link_.device().endpoint());
  }

  // The target: does what the initiator orders until it says done.
  Status serve_all(Context& context) {
    SendQueue& queue = link_.queue();
    std::optional<std::size_t> set_up;  // the size whose areas are
    for (;;) {
      ControlWord word;
      if (!control_.receive(queue, word)) return queue_failure();
      if (word.order == Order::kDone) return {};
      const bool known = word.order == Order::kPingPong || word.order == Order::kVerify;
      if (!known || word.size_index >= sizes_.size())
        return fail(Code::kInternal,
                    link_.device().endpoint() + ": the other side's control word makes no sense");
      if (word.order == Order::kPingPong) {
        if (set_up != word.size_index) set_up_areas(word.size_index);
        set_up = word.size_index;
        Volley own = volley(context, word.size_index);
        if (!control_.send(queue, Order::kReady, word.size_index, 0) ||
            !answer(queue, own, word.count))
          return queue_failure();
        continue;
      }
      Status compared = compare(word.size_index);
      const Order order = compared ? Order::kVerified : Order::kMismatch;
      if (!control_.send(queue, order, word.size_index, 0)) return queue_failure();
      if (!compared) return compared;
    }
  }

  std::vector<std::uint64_t> sizes_;
  SamplerOptions options_;
  std::vector<std::uint64_t> stamps_;
  Link link_;
  ControlChannel control_;  // after the link, whose domain it is registered in
  std::uint32_t rank_ = 0;
  bool peer_found_mismatch_ = false;
};

KernelInfo info() {
  return InfoBuilder("verbs.write_lat", 1,
                     "RDMA WRITE latency between two ports, half a round trip, by ping-pong")
      .ranks(2, 2)
      .endpoint("nic")
      .metrics({"latency_ns"})
      .sizes("8,4KiB")
      .integer("signal_every", "writes from one completion to the next", 1, 1, 1024)
      .identity()
      .sampling("round trips", 1000, 100'000)
      .apply([](InfoBuilder& builder) {
        add_added_cost(
            builder, "test control: each round trip is made longer by this share of its own time");
      })
      .apply([](InfoBuilder& builder) { add_connection(builder, "220"); })
      .build();
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteLat;
const KernelRow kVerbsWriteLat{verbs::info, []() -> std::unique_ptr<Kernel> {
                                 return std::make_unique<verbs::WriteLatency>();
                               }};
}  // namespace railgauge

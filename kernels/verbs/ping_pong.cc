// Latency by ping-pong, half a round trip. A write is detected by polling the last byte of the
// message in the own memory, which adapters place last; a message that uses up a receive, by that
// receive's completion. Each side waits, then answers. One time stamp precedes each post. A sample
// is half the time from one stamp to the next; in between the completion of the own message is
// polled, as in perftest. Relaxed ordering is a parameter of sends alone: with it the last byte of
// a write need not come last. The CPU never polls GPU memory: a write into it has no latency here.
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "kernels/core/agreement.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/sampler.h"
#include "kernels/verbs/kernels.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/link/parameters.h"
#include "kernels/verbs/ping_pong.h"
#include "kernels/verbs/stream/link_kernel.h"
#include "kernels/verbs/stream/link_stream.h"

namespace railgauge::verbs {
namespace {

constexpr std::uint32_t kReceiveDepth = 16;  // one is in use
constexpr std::size_t kUncompared = 1;       // a message's last byte: the ball's number

// Rank 0 orders batches by control words and takes the time; rank 1 answers until it reads kDone.
class PingPong final : public LinkKernel {
 public:
  explicit PingPong(Verb verb) : verb_(verb) {}

  // kUnimplemented for a write into GPU memory.
  Status prepare(Context& context) override {
    Link::Options options = RG_TRY(read(context, verb_));
    choose_memory(context, options);
    choose_places(context.params, options);
    RG_TRY_OK(check_completions(context.params));
    options.send_depth = static_cast<std::uint32_t>(context.params.integer("signal_every"));
    if (operation_of(verb_).may_relax_latency()) options.ordering = ordering_of(context.params);
    if (operation_of(verb_).takes_receive) {
      options.receive_depth = kReceiveDepth;
      options.sleeps = context.params.text("poll") == "events";
      options.completion_vector =
          static_cast<std::uint32_t>(context.params.integer("completion_vector"));
    } else {
      RG_TRY_OK(check_cpu_may_poll(context));
    }
    return open(context, options, true);
  }

  // Rank 0 measures, rank 1 serves. Points of sizes that ended before a failure are reported too,
  // so the report follows the agreement even after a failure.
  Status measure(Context& context, Group& group) override {
    set_limits(context);
    RG_TRY_OK(begin(context, group));
    const Status here = rank_ == 0 ? measure_all(context, group) : serve_all(context);
    note_troubles(book_, link_->device(), here, context.reporter);
    if (link_->waiting().failed()) control_->abort();
    // The other rank is at most one wait behind.
    const double stall_seconds = context.params.duration_ns("stall_timeout") / 1e9;
    PeerStatus told;
    told.mutable_accounts()->Assign(accounts_.begin(), accounts_.end());
    const auto all =
        agree_on(group, here, told, std::min(seconds_left(context), stall_seconds + kTellSeconds));
    report(context, all ? (*all)[1 - rank_] : PeerStatus{});
    if (!all) return tl::unexpected(all.error());
    return {};
  }

 private:
  // Reports the points with the costs of both ends, including sizes measured before a failure.
  void report(const Context& context, const PeerStatus& peer) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      auto& facts = *points_[i].mutable_facts();
      add_latency_account(accounts_[i], "", facts);
      if (static_cast<int>(i) < peer.accounts_size())
        add_latency_account(peer.accounts(static_cast<int>(i)), "peer_", facts);
      context.reporter.point(std::move(points_[i]));
    }
  }

  // Receives for all sizes: each takes the largest message.
  Status begin(Context& context, Group& group) override {
    Status here;
    if (operation_of(verb_).takes_receive)
      here = renew_receives(*link_, receive_slots(), {.receives = true}, false);
    return agree<PeerStatus>(group, here, seconds_left(context));
  }

  // The loops differ in how they learn of a ball: chosen once a batch, not once a ball.
  template <class Play>
  bool play(const RoundTrip& own, Play loop) {
    if (operation_of(verb_).takes_receive) return loop(ByReceive{link_->receives()});
    if (is_cold()) return loop(ByMovingMemory{in_});
    return loop(ByMemory{own.last_in});
  }

  // Both sides, before the first ball: the last byte must not look like an answer already.
  RoundTrip round_trips(const Context& context, std::size_t size_index) {
    const std::size_t last = sizes_[size_index] - 1;
    RoundTrip made;
    made.request = link_->request(sizes_[size_index]);
    if (link_->memory().is_host()) {
      made.last_out = reinterpret_cast<std::uint8_t*>(link_->send_area().data()) + last;
      made.last_in =
          reinterpret_cast<std::uint8_t*>(link_->receive_area().data()) + link_->grh_bytes() + last;
    } else {  // the CPU touches no byte of it: completions report the messages
      made.last_out = made.last_in = &untouched_;
    }
    if (is_cold()) made.walk = &out_;
    made.signal_every = static_cast<std::uint64_t>(context.params.integer("signal_every"));
    made.added_cost = context.params.number("added_cost_fraction");
    if (!is_cold()) __atomic_store_n(made.last_in, 0, __ATOMIC_RELAXED);
    return made;
  }

  // All sizes on rank 0, then kDone. A mismatch at the peer ends the loop: its own error is the
  // exact one.
  Status measure_all(Context& context, Group& group) {
    Status measured = [&]() -> Status {
      for (std::size_t i = 0; i < sizes_.size() && !peer_found_mismatch_; ++i)
        RG_TRY_OK(measure_size(context, group, i));
      return {};
    }();
    if (link_->waiting().failed()) return measured;
    if (!control_->send({.order = Order::kDone}) && measured) return failure();
    return measured;
  }

  // Before a size's first ball.
  Status set_up(std::size_t size_index) {
    const Layout layout = layout_of(size_index);
    RG_TRY_OK(set_up_areas(*link_, layout, size_index, rank_));
    if (is_cold()) begin_walks(layout, size_index);
    return {};
  }

  [[nodiscard]] bool is_cold() const { return link_->options().ring_bytes > kHotRingBytes; }
  [[nodiscard]] Layout layout_of(std::size_t size_index) const {
    return latency_layout(*link_, sizes_[size_index]);
  }
  // The receives of all sizes: each takes the largest message.
  [[nodiscard]] Slots receive_slots() const {
    return latency_layout(*link_, link_->options().largest_bytes).target;
  }

  // Both ranks' messages of a cold ring begin at its first slot again; a rank that looks for them
  // in memory finds kBall at their ends.
  void begin_walks(const Layout& layout, std::size_t size_index) {
    const std::size_t last = sizes_[size_index] - 1;
    const Request request = link_->request(sizes_[size_index]);
    out_ = {.from = request.sge.addr,
            .to = link_->operation().is_aimed() ? request.wr.wr.rdma.remote_addr : 0,
            .stride = layout.source.stride_bytes,
            .slots = layout.source.count};
    if (operation_of(verb_).takes_receive) return;
    in_ = out_;
    in_.from = reinterpret_cast<std::uint64_t>(link_->receive_area().data()) + last;
    const std::span<std::byte> source = link_->send_area();
    for (std::size_t slot = 0; slot < out_.slots; ++slot)
      source[slot * out_.stride + last] = std::byte{kBall};
  }

  // Measures one size on rank 0: set up, sample, verify both directions, keep the point until the
  // peer's accounts are known.
  Status measure_size(Context& context, Group& /*group*/, std::size_t size_index) override {
    const TickClock& clock = tick_clock(context);
    RG_TRY_OK(set_up(size_index));
    book_.open();
    // Built once a size; the timed loop only changes its counters.
    RoundTrip own = round_trips(context, size_index);
    Sampler sampler(context.clock, options_);
    book_.begin_work();
    const Sampled sampled = RG_TRY(sampler.run(
        [&](std::uint64_t count, std::vector<double>& out) {
          return batch(clock, own, size_index, count, out);
        },
        [&] { return renew_both(size_index); }));
    book_.end_work(static_cast<double>(sampled.warmup_count + sampled.samples.size()));
    if (context.params.boolean("verify")) RG_TRY_OK(verify(size_index));
    accounts_.push_back(book_.close());
    if (peer_found_mismatch_) return {};
    Point point = RG_TRY(latency_point(context, "half_rtt", size_index, sampled, kUncompared));
    (*point.mutable_facts())["sent_inline"] =
        (own.request.flags & IBV_SEND_INLINE) != 0 ? "true" : "false";
    if (context.params.boolean("verify")) RG_TRY_OK(prove_both(context, size_index));
    if (peer_found_mismatch_) return {};
    add_proof(point);
    points_.push_back(std::move(point));
    return {};
  }

  // Orders the target to answer, then plays; the samples are made after the last stamp.
  Status batch(const TickClock& clock, RoundTrip& own, std::size_t size_index, std::uint64_t count,
               std::vector<double>& out) {
    RG_CHECK(count < stamps_.size());
    if (!is_cold()) __atomic_store_n(own.last_in, 0, __ATOMIC_RELAXED);
    ControlWord ready;
    if (!link_->waiting().before_deadline() ||
        !control_->send(batch_of(Order::kPingPong, size_index, count)) || !control_->receive(ready))
      return failure();
    const bool played = play(own, [&](const auto& arrival) {
      return initiate(link_->sends(), own, arrival, clock, count, stamps_.data());
    });
    if (!played) return failure();
    for (std::uint64_t i = 0; i < count; ++i)
      out.push_back(clock.to_ns(stamps_[i + 1] - stamps_[i]) / 2);
    return {};
  }

  // After the warm-up, what either side sends changes; no ball is in flight.
  Status renew_both(std::size_t size_index) {
    ControlWord word;
    if (!control_->send(batch_of(Order::kRenew, size_index, 0)) || !control_->receive(word))
      return failure();
    return renew(size_index);
  }
  Status renew(std::size_t size_index) {
    const Layout layout = layout_of(size_index);
    RG_TRY_OK(renew_areas(*link_, layout, size_index, rank_));
    if (is_cold()) begin_walks(layout, size_index);
    return {};
  }

  // Has the last ball compared that went there, and compares the last one that came here.
  Status verify(std::size_t size_index) {
    ControlWord word;
    if (!control_->send(batch_of(Order::kVerify, size_index, 0)) || !control_->receive(word))
      return failure();
    peer_found_mismatch_ = word.order == Order::kMismatch;  // its own words come at the end
    if (peer_found_mismatch_) return {};
    return compare(size_index);
  }

  // Has rank 1 enter the proof, too.
  Status prove_both(Context& context, std::size_t size_index) {
    ControlWord word;
    if (!control_->send(batch_of(Order::kProve, size_index, 0)) || !control_->receive(word))
      return failure();
    RG_TRY_OK(prove(context, proving(size_index)));
    peer_found_mismatch_ = proved_.peer_found_mismatch;
    return {};
  }
  [[nodiscard]] Proving proving(std::size_t size_index) const {
    return {.size_index = size_index, .both = true, .receives = receive_slots()};
  }

  // All but the message's last byte: that is the ball's number, and the wait has seen it.
  [[nodiscard]] Status compare(std::size_t size_index) const {
    Brought brought{.size_index = size_index,
                    .from = 1 - rank_,
                    .slots = 1,
                    .renewed = 1,
                    .uncompared = kUncompared};
    const Layout layout = renewed(layout_of(size_index));
    if (is_cold()) {
      const std::uint64_t count = layout.target.count;
      // As many came as went. Sends came into the slots up to the last receive's.
      brought.slots = brought.renewed = std::min(count, out_.messages);
      if (is_cold_ring(layout.target) && link_->operation().verb == Verb::kSend)
        brought.first_slot = (link_->receives().last_slot() + 1 + count - brought.slots) % count;
    }
    return verify_target(*link_, layout, brought);
  }

  // On the target; ends the size before.
  Status begin_size(std::size_t size_index, std::optional<std::size_t>& current) {
    if (current) accounts_.push_back(book_.close());
    RG_TRY_OK(set_up(size_index));
    book_.open();
    current = size_index;
    return {};
  }

  // Runs the target: performs the initiator's orders until kDone. A size changes with its first
  // batch.
  Status serve_all(Context& context) {
    std::optional<std::size_t> current;  // the size whose areas are set up
    for (;;) {
      ControlWord word;
      if (!control_->receive(word)) return failure();
      if (word.order == Order::kDone) {
        if (current) accounts_.push_back(book_.close());
        return {};
      }
      // A word of another order or an unknown size means that the ranks run different versions.
      const bool known = word.order == Order::kPingPong || word.order == Order::kVerify ||
                         word.order == Order::kProve || word.order == Order::kRenew;
      if (!known || word.size_index >= sizes_.size())
        return fail(Code::kInternal,
                    link_->device().endpoint() + ": the other side's control word makes no sense");
      if (word.order == Order::kPingPong) {
        if (current != word.size_index) RG_TRY_OK(begin_size(word.size_index, current));
        RoundTrip own = round_trips(context, word.size_index);
        if (!control_->send(batch_of(Order::kReady, word.size_index, 0))) return failure();
        book_.begin_work();
        const bool answered = play(own, [&](const auto& arrival) {
          return answer(link_->sends(), own, arrival, word.count);
        });
        book_.end_work(word.count);
        if (!answered) return failure();
        continue;
      }
      if (word.order == Order::kRenew) {
        // Without a warm-up it comes before the first ball, which sets the size up.
        if (current != word.size_index) RG_TRY_OK(begin_size(word.size_index, current));
        RG_TRY_OK(renew(word.size_index));
        if (!control_->send(batch_of(Order::kReady, word.size_index, 0))) return failure();
        continue;
      }
      if (word.order == Order::kProve) {
        accounts_.push_back(book_.close());
        current.reset();
        if (!control_->send(batch_of(Order::kReady, word.size_index, 0))) return failure();
        RG_TRY_OK(prove(context, proving(word.size_index)));
        continue;
      }
      Status compared = compare(word.size_index);
      const Order order = compared ? Order::kVerified : Order::kMismatch;
      if (!control_->send(batch_of(order, word.size_index, 0))) return failure();
      if (!compared) return compared;
    }
  }

  // An order for one size; `count` is the number of round trips and fits 32 bits by the sampler's
  // bound.
  static ControlWord batch_of(Order order, std::size_t size_index, std::uint64_t count) {
    return {static_cast<std::uint32_t>(count), static_cast<std::uint16_t>(size_index), order};
  }

  Verb verb_;
  std::vector<Account> accounts_;  // one a size
  std::vector<Point> points_;      // one a size, on rank 0
  // In a cold ring: this rank's messages, and those that it waits for in memory.
  Walk out_;
  Walk in_;
  // Set on rank 0 when rank 1 found wrong bytes.
  bool peer_found_mismatch_ = false;
  std::uint8_t untouched_ = 0;  // used in place of a message's last byte in GPU memory
};

}  // namespace

std::unique_ptr<Kernel> make_ping_pong(Verb verb) { return std::make_unique<PingPong>(verb); }

}  // namespace railgauge::verbs

// A round: the initiator posts one message for each slot and waits for its completions; then a
// control word lets the target compare and prepare the next round. The target is ready before the
// first one. So a round costs one exchange of words.
#include "kernels/verbs/proof/link_proof.h"

#include <algorithm>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/proof/arrivals.h"

namespace railgauge::verbs {
namespace {

// The largest divisor of `depth` that is at most `most`: receives go round in a ring, and no slot
// may come twice in one round, wherever it begins.
std::uint64_t divisor_of(std::uint64_t depth, std::uint64_t most) {
  std::uint64_t slots = std::min(depth, most);
  while (depth % slots != 0) --slots;
  return slots;
}

// The places of a direction's messages, the same on both ranks.
Layout layout_of(const Link& link, const LinkProof& proof) {
  constexpr std::uint64_t kCacheLineBytes = 64;
  if (link.operation().is_atomic()) return proof_words_layout(link);
  Layout layout;
  layout.target = proof.receives;
  if (link.operation().verb == Verb::kSend) {
    layout.target.count = divisor_of(link.options().receive_depth, layout.target.count);
  } else {
    const std::uint64_t stride =
        (proof.message_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    // Each message waits for a receive where it takes one.
    std::uint64_t most = proof_slots(proof.message_bytes);
    if (link.operation().takes_receive)
      most = std::min<std::uint64_t>(most, link.options().receive_depth);
    const std::uint64_t count = std::clamp<std::uint64_t>(
        link.common_area_bytes() / std::max<std::uint64_t>(1, stride), 1, most);
    layout.target = {.stride_bytes = count > 1 ? stride : 0, .count = count};
  }
  layout.target.bytes = proof.message_bytes;
  layout.target.are_alike = false;
  layout.source = layout.target;
  layout.source.offset_bytes = 0;
  return layout;
}

// One direction on one rank while it runs.
class Direction {
 public:
  Direction(Link& link, ControlChannel& control, const TickClock& clock, const LinkProof& proof,
            std::uint32_t initiator)
      : link_(link),
        control_(control),
        clock_(clock),
        proof_(proof),
        layout_(layout_of(link, proof)),
        round_{.first = 0, .slots = layout_.target.count},
        initiates_(proof.rank == initiator),
        // A read's data comes from the target.
        sender_(link.operation().verb == Verb::kRead ? 1 - initiator : initiator),
        arrivals_(link, clock, {proof.size_index, sender_, layout_.target}),
        words_(link, {proof.size_index, sender_, layout_.target}) {}

  Result<Proved> run() { return initiates_ ? initiate() : serve(); }

 private:
  [[nodiscard]] bool is_read() const { return link_.operation().verb == Verb::kRead; }
  [[nodiscard]] bool is_atomic() const { return link_.operation().is_atomic(); }
  [[nodiscard]] tl::unexpected<Error> failure() const {
    return tl::unexpected(link_.waiting().failure());
  }

  // The initiator's rounds.
  Result<Proved> initiate() {
    for (std::uint32_t lane = 0; lane < link_.options().lanes; ++lane)
      requests_.push_back(link_.request(proof_.message_bytes, lane));
    ControlWord answer;
    if (!control_.send({.order = Order::kProve}) || !control_.receive(answer)) return failure();
    const std::uint64_t began = clock_.ticks();
    Proved proved;
    while (
        proof_.share.wants_round(rounds_, proved.messages, clock_.to_ns(clock_.ticks() - began))) {
      if (!link_.waiting().before_deadline()) return failure();
      RG_TRY_OK(initiator_prepares());
      if (!post_round()) return failure();
      if (auto right = initiator_compares(); !right) {
        // The target ends too, and learns the words where both agree.
        static_cast<void>(control_.send({.order = Order::kMismatch}));
        return tl::unexpected(std::move(right).error());
      }
      if (!control_.send({.order = Order::kVerify}) || !control_.receive(answer)) return failure();
      proved.peer_found_mismatch = answer.order != Order::kVerified;
      if (proved.peer_found_mismatch) return proved;
      proved.messages += answer.count;
      proved.sent += round_.slots;
      next_round();
    }
    if (!control_.send({.order = Order::kDone})) return failure();
    return proved;
  }

  // The target's rounds.
  Result<Proved> serve() {
    Proved proved;
    ControlWord word;
    if (!control_.receive(word)) return failure();
    if (!take_late()) return failure();
    link_.receives().count_from_zero();
    RG_TRY_OK(target_prepares());
    if (!control_.send({.order = Order::kReady})) return failure();
    for (;;) {
      if (!control_.receive(word)) return failure();
      proved.peer_found_mismatch = word.order == Order::kMismatch;
      if (word.order != Order::kVerify) return proved;
      const auto right = target_compares();
      if (!right) {
        const bool is_loss = right.error().code == Code::kDataLoss;
        if (is_loss && !control_.send({.order = Order::kMismatch})) return failure();
        return tl::unexpected(right.error());
      }
      proved.messages += *right;
      proved.sent += round_.slots;
      next_round();
      RG_TRY_OK(target_prepares());
      const auto count = static_cast<std::uint32_t>(*right);
      if (!control_.send({.count = count, .order = Order::kVerified})) return failure();
    }
  }

  void next_round() {
    ++rounds_;
    round_.first += round_.slots;
  }

  // Takes what came after an unreliable transport's timed part was over: the first round would
  // count it as its own. The initiator posts nothing before the target is ready.
  bool take_late() {
    if (link_.is_reliable() || !link_.operation().takes_receive) return true;
    std::int64_t taken = 0;
    do {
      taken = link_.receives().take(true);
    } while (taken > 0);
    return taken == 0;
  }

  Status initiator_prepares() {
    if (is_atomic()) return words_.initiator_prepares(round_);
    if (is_read()) return arrivals_.clear();
    return fill_slots({link_.memory(), 0}, numbered(layout_.source, round_.first),
                      proof_.size_index, sender_);
  }
  Status target_prepares() {
    if (is_atomic()) return rounds_ == 0 ? words_.target_begins() : Status{};
    if (!is_read()) return arrivals_.clear();
    return fill_slots({link_.memory(), 0}, numbered(layout_.source, round_.first),
                      proof_.size_index, sender_);
  }
  Status initiator_compares() {
    if (is_atomic()) return words_.compare_fetched(round_);
    if (!is_read()) return {};
    RG_TRY_OK(arrivals_.compare(round_));
    return {};
  }
  // Returns the number of messages that are right.
  Result<std::uint64_t> target_compares() {
    if (is_atomic()) {
      RG_TRY_OK(words_.compare_left(round_));
      return round_.slots;
    }
    return is_read() ? Result<std::uint64_t>(round_.slots) : arrivals_.compare(round_);
  }

  // The lane of a slot's message. Sends of one round share a lane, because the receives of two
  // lanes have the same slots; each lane has its own words for atomics.
  [[nodiscard]] std::size_t lane_of(std::uint64_t slot) const {
    const std::size_t lanes = requests_.size();
    if (link_.operation().verb == Verb::kSend) return rounds_ % lanes;
    return is_atomic() ? slot * lanes / round_.slots : slot % lanes;
  }

  // Posts the round's messages and waits until all have completed.
  bool post_round() {
    SendQueue& sends = link_.sends();
    for (std::uint64_t k = 0; k < round_.slots; ++k) {
      const std::size_t lane = lane_of(k);
      Request request = requests_[lane];
      const std::uint64_t at = k * layout_.source.stride_bytes;
      request.sge.addr += at;
      if (is_atomic())
        words_.aim(k, rounds_, request);
      else if (link_.operation().is_aimed())
        request.wr.wr.rdma.remote_addr += at;
      while (sends.lane(lane).in_flight >= link_.options().send_depth)
        if (sends.poll_or_wait() < 0) return false;
      if (!sends.post(request, true, lane)) return false;
    }
    return sends.wait_retired();
  }

  Link& link_;
  ControlChannel& control_;
  const TickClock& clock_;
  const LinkProof& proof_;
  Layout layout_;
  ProofRound round_;
  bool initiates_;
  std::uint32_t sender_;
  Arrivals arrivals_;
  ProofWords words_;
  std::vector<Request> requests_;  // one a lane
  std::uint64_t rounds_ = 0;
};

// Both directions, one after the other.
Result<Proved> prove_directions(Link& link, ControlChannel& control, const TickClock& clock,
                                const LinkProof& proof) {
  Proved all;
  for (std::uint32_t initiator = 0; initiator < (proof.both ? 2U : 1U); ++initiator) {
    auto one = Direction(link, control, clock, proof, initiator).run();
    if (!one) {
      // A control word said so; the other side waits for nothing more.
      if (one.error().code != Code::kDataLoss) control.abort();
      return one;
    }
    all.messages += one->messages;
    all.sent += one->sent;
    all.peer_found_mismatch = one->peer_found_mismatch;
    if (all.peer_found_mismatch) break;
  }
  return all;
}

// Posts the receives anew for the proof's slots.
Status give_receives(Link& link, ControlChannel& control, const TickClock& clock,
                     const LinkProof& proof) {
  const Parts parts{.sends = proof.both || proof.rank == 0,
                    .receives = proof.both || proof.rank == 1};
  RG_TRY_OK(use_up_receives(link, control, clock, parts, proof.rank));
  Status given = renew_receives(link, proof.receives, parts, true);
  if (!given) control.abort();
  return given;
}

}  // namespace

// A round's messages come into the same slots again, so a hot ring takes the place of a cold one.
Result<Proved> prove_link(Link& link, ControlChannel& control, const TickClock& clock,
                          const LinkProof& proof) {
  // A ping-pong may still owe the receive of its last ball.
  if (!link.receives().give_back()) return tl::unexpected(link.waiting().failure());
  if (link.operation().verb != Verb::kSend || !is_cold_ring(proof.receives)) {
    // Receives that messages took in any order were given out again in that order.
    if (link.operation().verb == Verb::kSend && !link.is_ordered())
      RG_TRY_OK(give_receives(link, control, clock, proof));
    return prove_directions(link, control, clock, proof);
  }
  LinkProof hot = proof;
  hot.receives = slots_in(link.common_area_bytes(), proof.receives.bytes, link.grh_bytes());
  hot.receives.are_alike = true;
  RG_TRY_OK(give_receives(link, control, clock, hot));
  const Proved proved = RG_TRY(prove_directions(link, control, clock, hot));
  if (proved.peer_found_mismatch) return proved;
  // In one direction the initiator's last word must be read before another one comes.
  ControlWord read;
  if (!proof.both &&
      !(proof.rank == 1 ? control.send({.order = Order::kReady}) : control.receive(read)))
    return tl::unexpected(link.waiting().failure());
  RG_TRY_OK(give_receives(link, control, clock, proof));
  return proved;
}

}  // namespace railgauge::verbs

// The sender says when everything has left it, and the receiver then waits a while for what has not
// come: a message that a wire swallowed is a finding, not a stall.
#include "kernels/verbs/proof/arrivals.h"
#include "kernels/verbs/staged/staging.h"

namespace railgauge::verbs {
namespace {

constexpr double kStagedQuietNs = 50e6;            // far above a round trip of any fabric
constexpr unsigned kProofIdleBetweenLooks = 1024;  // rounds without progress

// One direction on one rank while it runs.
class StagedDirection {
 public:
  StagedDirection(Staging& staging, Link& link, ControlChannel& control, const TickClock& clock,
                  const LinkProof& proof, std::uint32_t sender)
      : staging_(staging),
        link_(link),
        control_(control),
        clock_(clock),
        proof_(proof),
        sender_(sender),
        content_{.size_index = proof.size_index,
                 .sender = sender,
                 .slots = {.bytes = proof.message_bytes}},
        arrivals_(link, clock, content_, staging.target()) {}

  Result<Proved> run() { return proof_.rank == sender_ ? send() : receive(); }

 private:
  [[nodiscard]] tl::unexpected<Error> failure() const {
    return tl::unexpected(link_.waiting().failure());
  }

  // Moves things on until `done`, or for `most_ns` without progress.
  template <class Done>
  Status run_until(Done done, double most_ns = 0) {
    std::uint64_t since = 0;
    std::uint64_t moved = clock_.ticks();
    for (unsigned idle = 0; !done();) {
      if (RG_TRY(staging_.progress())) {
        since = 0;
        idle = 0;
        moved = clock_.ticks();
      } else if (most_ns > 0 && clock_.to_ns(clock_.ticks() - moved) > most_ns) {
        return {};
      } else if (++idle % kProofIdleBetweenLooks == 0 && !link_.waiting().may_continue(since)) {
        return failure();
      }
    }
    return {};
  }
  // The next word, while messages and counts move on.
  Status hear(ControlWord& word) {
    RG_TRY_OK(run_until([this] { return control_.has_word(); }));
    return control_.receive(word) ? Status{} : failure();
  }

  Result<Proved> send() {
    ControlWord answer;
    if (!control_.send({.order = Order::kProve})) return failure();
    RG_TRY_OK(hear(answer));
    const std::uint64_t began = clock_.ticks();
    Proved proved;
    for (std::uint64_t rounds = 0;
         proof_.share.wants_round(rounds, proved.messages, clock_.to_ns(clock_.ticks() - began));
         ++rounds) {
      if (!link_.waiting().before_deadline()) return failure();
      const Slots next = numbered(content_.slots, rounds);
      RG_TRY_OK(staging_.renew_next({proof_.size_index, sender_, next.first_number}));
      staging_.allow(1);
      RG_TRY_OK(run_until([this] { return staging_.is_sent(); }));
      if (!control_.send({.order = Order::kVerify})) return failure();
      RG_TRY_OK(hear(answer));
      proved.peer_found_mismatch = answer.order != Order::kVerified;
      if (proved.peer_found_mismatch) return proved;
      ++proved.messages;
      RG_TRY_OK(run_until([this] { return staging_.delivered() == staging_.allowed(); }));
    }
    if (!control_.send({.order = Order::kDone})) return failure();
    return proved;
  }

  Result<Proved> receive() {
    ControlWord word;
    RG_TRY_OK(hear(word));
    const std::uint64_t before = staging_.received();
    RG_TRY_OK(arrivals_.clear());
    if (!control_.send({.order = Order::kReady})) return failure();
    Proved proved;
    for (;;) {
      RG_TRY_OK(hear(word));
      if (word.order != Order::kVerify) return proved;
      const std::uint64_t awaited = before + proved.messages + 1;
      RG_TRY_OK(run_until([&] { return staging_.received() >= awaited; }, kStagedQuietNs));
      const auto right = arrivals_.compare({.first = proved.messages, .slots = 1});
      if (!right) {
        const bool is_loss = right.error().code == Code::kDataLoss;
        if (is_loss && !control_.send({.order = Order::kMismatch})) return failure();
        return tl::unexpected(right.error());
      }
      RG_TRY_OK(arrivals_.clear());
      ++proved.messages;
      if (!control_.send({.count = 1, .order = Order::kVerified})) return failure();
    }
  }

  Staging& staging_;
  Link& link_;
  ControlChannel& control_;
  const TickClock& clock_;
  const LinkProof& proof_;
  std::uint32_t sender_;
  ProofContent content_;
  Arrivals arrivals_;
};

}  // namespace

Result<Proved> prove_staged(Staging& staging, Link& link, ControlChannel& control,
                            const TickClock& clock, const LinkProof& proof) {
  Proved all;
  for (std::uint32_t sender = 0; sender < (proof.both ? 2U : 1U); ++sender) {
    auto one = StagedDirection(staging, link, control, clock, proof, sender).run();
    if (!one) {
      if (one.error().code != Code::kDataLoss) control.abort();
      return one;
    }
    all.messages += one->messages;
    all.sent += one->messages;
    all.peer_found_mismatch = one->peer_found_mismatch;
    if (all.peer_found_mismatch) break;
  }
  return all;
}

}  // namespace railgauge::verbs

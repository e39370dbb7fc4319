// A sender decides by its own clock and says so to the receiver in the stream, in front of each
// round: no meeting of the ranks costs time between two rounds.
#include "kernels/net/proof.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/units.h"

namespace railgauge::net {
namespace {

// Bytes by which a message is recognised as that of a number.
constexpr std::size_t kRecognised = 8;
// In slots where a message is to arrive; no content is this byte alone.
constexpr std::byte kCleared{0xa5};

// In front of each round, in host byte order: both ends are of one architecture. 0 slots: the end.
struct RoundHead {
  std::uint64_t magic = 0;
  std::uint64_t first = 0;
  std::uint64_t slots = 0;
};
constexpr std::uint64_t kRoundMagic = 0x5247'7072'6f6f'6600;

// The result of a thread; read after its join.
struct Share {
  Status status;
  std::uint64_t messages = 0;
};

// One proof on one rank while it runs.
class RunningProof {
 public:
  explicit RunningProof(const StreamProof& proof) : proof_(proof) {}

  Result<std::uint64_t> run() {
    const std::size_t total = proof_.outward.size() + proof_.inward.size();
    shares_ = std::vector<Share>(total);
    const Status started = start();
    for (std::thread& thread : threads_) thread.join();
    RG_TRY_OK(started);
    return sum();
  }

 private:
  [[nodiscard]] Sender sender(std::uint32_t rank, std::size_t stream) const {
    return {proof_.size_index, rank, stream};
  }

  Status start() {
    try {
      for (std::size_t i = 0; i < proof_.inward.size(); ++i)
        threads_.emplace_back([this, i] { keep(proof_.outward.size() + i, receive(i)); });
      for (std::size_t i = 0; i < proof_.outward.size(); ++i)
        threads_.emplace_back([this, i] { keep(i, send(i)); });
    } catch (const std::system_error& error) {
      stop_ = true;
      for (const Pipe& pipe : proof_.inward) pipe.shut_down();
      for (const Pipe& pipe : proof_.outward) pipe.shut_down();
      return fail(Code::kResourceExhausted,
                  fmt::format("net: start a thread for a proof: {}", error.what()));
    }
    return {};
  }

  void keep(std::size_t place, Result<std::uint64_t> ended) {
    if (ended) {
      shares_[place].messages = *ended;
      return;
    }
    shares_[place].status = tl::unexpected(std::move(ended).error());
    stop_ = true;
  }

  // Wrong bytes before any other error: a closed stream may be their consequence.
  [[nodiscard]] Result<std::uint64_t> sum() const {
    const Share* worst = nullptr;
    std::uint64_t messages = 0;
    for (const Share& share : shares_) {
      messages += share.messages;
      if (!share.status && (worst == nullptr || weight(share) > weight(*worst))) worst = &share;
    }
    if (worst != nullptr) return tl::unexpected(worst->status.error());
    return messages;
  }
  static int weight(const Share& share) {
    const Code code = share.status.error().code;
    return code == Code::kDataLoss ? 2 : code == Code::kAborted ? 0 : 1;
  }

  // A stream that the other side closed: it does so where it found an error.
  static Error failure(const Pipe& pipe) {
    Error error = pipe.failure();
    if (pipe.closed()) error.code = Code::kAborted;
    return error;
  }

  // The loop of one outgoing stream; the messages that it sent are the receiver's to count.
  Result<std::uint64_t> send(std::size_t stream) {
    Pipe& pipe = proof_.outward[stream];
    const ProofRing ring = RG_TRY(own_ring());
    const double began_ns = monotonic_now_ns();
    double now_ns = began_ns;
    std::uint64_t rounds = 0;
    RoundHead head{kRoundMagic, 0, ring.slots()};
    while (!stop_ && proof_.share.wants_round(rounds, head.first, now_ns - began_ns)) {
      if (now_ns >= proof_.deadline_monotonic_ns)
        return fail(Code::kDeadlineExceeded, proof_.who + ": the task's deadline has come");
      if (!pipe.settle()) return tl::unexpected(failure(pipe));  // the slots may change now
      ring.fill(sender(proof_.rank, stream), {head.first, head.slots});
      if (!pipe.send_copied(std::as_bytes(std::span(&head, 1))))
        return tl::unexpected(failure(pipe));
      for (std::uint64_t k = 0; k < head.slots; ++k)
        if (!pipe.send_all(ring.slot(k))) return tl::unexpected(failure(pipe));
      head.first += head.slots;
      ++rounds;
      now_ns = monotonic_now_ns();
    }
    head.slots = 0;
    if (!pipe.send_copied(std::as_bytes(std::span(&head, 1))) || !pipe.settle())
      return tl::unexpected(failure(pipe));
    return std::uint64_t{0};
  }

  // The loop of one incoming stream. An error ends the stream, so that its sender ends too.
  Result<std::uint64_t> receive(std::size_t stream) {
    auto received = receive_rounds(stream);
    if (!received) proof_.inward[stream].shut_down();
    return received;
  }

  Result<std::uint64_t> receive_rounds(std::size_t stream) {
    Pipe& pipe = proof_.inward[stream];
    const ProofRing ring = RG_TRY(own_ring());
    const Sender from = sender(1 - proof_.rank, stream);
    std::uint64_t next = 0;
    for (;;) {
      RoundHead head;
      if (!pipe.receive_all(std::as_writable_bytes(std::span(&head, 1))))
        return tl::unexpected(failure(pipe));
      const bool is_head =
          head.magic == kRoundMagic && head.first == next && head.slots <= ring.slots();
      if (!is_head)
        return fail(Code::kDataLoss,
                    fmt::format("{}: verify stream {}: behind message {} of {} come bytes that "
                                "were not sent there, expected a new round",
                                proof_.who, stream, next == 0 ? 0 : next - 1,
                                canonical_bytes(proof_.message_bytes)));
      if (head.slots == 0) return next;
      ring.clear();
      for (std::uint64_t k = 0; k < head.slots; ++k) {
        if (pipe.receive_all(ring.slot(k))) continue;
        // One that was lost before leaves too few bytes: the others show which.
        RG_TRY_OK(ring.compare(from, {head.first, k}, proof_.who));
        return tl::unexpected(failure(pipe));
      }
      RG_TRY_OK(ring.compare(from, {head.first, head.slots}, proof_.who));
      next += head.slots;
    }
  }

  [[nodiscard]] Result<ProofRing> own_ring() const {
    ProofRing ring = RG_TRY(ProofRing::allocate(std::span(&proof_.message_bytes, 1)));
    ring.begin(proof_.message_bytes);
    return ring;
  }

  const StreamProof& proof_;
  std::atomic<bool> stop_{false};
  std::vector<Share> shares_;  // one a thread
  std::vector<std::thread> threads_;
};

}  // namespace

Result<ProofRing> ProofRing::allocate(std::span<const std::uint64_t> sizes) {
  std::uint64_t most = 0;
  for (const std::uint64_t bytes : sizes) most = std::max(most, proof_slots(bytes) * bytes);
  ProofRing ring;
  ring.memory_ = RG_TRY(HostBuffer::allocate(most));
  return ring;
}

void ProofRing::fill(const Sender& sender, const ProofRound& round) const {
  for (std::uint64_t k = 0; k < round.slots; ++k)
    fill_pattern(slot(k), sender.seed(round.first + k));
}

void ProofRing::clear() const {
  std::ranges::fill(memory_.span().first(slots() * message_bytes_), kCleared);
}

// Slots before the first wrong one are right, which name_fault() relies on.
Status ProofRing::compare(const Sender& sender, const ProofRound& round,
                          const std::string& who) const {
  for (std::uint64_t k = 0; k < round.slots; ++k) {
    const auto wrong = find_mismatch(slot(k), sender.seed(round.first + k));
    if (!wrong) continue;
    ProofSlots slots;
    if (message_bytes_ >= kRecognised)
      slots.holds = [&](std::uint64_t at, std::uint64_t number) {
        return !find_mismatch(slot(at).first(kRecognised), sender.seed(number));
      };
    slots.untouched = [&](std::uint64_t at) {
      return std::ranges::all_of(slot(at), [](std::byte one) { return one == kCleared; });
    };
    return fail(Code::kDataLoss,
                fmt::format("{}: verify stream {}: {}", who, sender.stream,
                            proof_words(round, message_bytes_, name_fault(round, k, slots),
                                        mismatch_words(*wrong))));
  }
  return {};
}

Result<std::uint64_t> prove_streams(const StreamProof& proof) { return RunningProof(proof).run(); }

}  // namespace railgauge::net

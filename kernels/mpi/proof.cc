// The proof after a size's timed part. A call of a proof is one sample's work of the timed loop, so
// a window where the kernel has windows; it is compared before the next one begins.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/proof/proof_plan.h"
#include "kernels/core/text/units.h"
#include "kernels/mpi/bench.h"
#include "kernels/mpi/data.h"

namespace railgauge::mpi {
namespace {

// Bytes by which a message is recognised; fewer are equal by chance.
constexpr std::uint64_t kLeastRecognised = 8;
constexpr std::uint64_t kMostRecognised = 64;
// Few enough for ranks that share a core, many against the order and the agreement of a round.
constexpr std::uint64_t kMostCallsInRound = 16;

}  // namespace

Content Bench::content_of(std::size_t size_index, std::uint64_t number) const {
  return {.size_index = size_index,
          .number = number,
          .reduces = operation_.reduces,
          .ranks = ranks_,
          .effect = operation_.effect};
}

// A window's messages that share a place would prove the last of them alone: a proof's window has
// one message for each place.
Share Bench::share_of_proof(std::size_t size_index) const {
  Share share = share_of(size_index);
  share.window = share.places();
  return share;
}

Bench::Brought Bench::brought_by_call(std::size_t size_index) const {
  Share share = share_of_proof(size_index);
  Brought brought;
  for (share.rank = 0; share.rank < ranks_; ++share.rank)
    for (const Segment& segment : operation_.received(share)) {
      ++brought.messages;
      brought.bytes += segment.bytes;
    }
  if (operation_.timed == Timed::kAll)
    brought.messages = std::min<std::uint64_t>(brought.messages, 1);
  return brought;
}

// Equal on all ranks.
std::uint64_t Bench::calls_in_round(std::size_t size_index) const {
  return std::min(proof_slots(longest_buffer(share_of_proof(size_index))), kMostCallsInRound);
}

void Bench::agree_on(const Status& found) {
  const std::uint32_t bad = found ? 0 : 1;
  std::vector<std::uint32_t> all(ranks_);
  mpi_->all_gather(&bad, sizeof bad, all.data());
  stopped_ = std::ranges::find(all, 1U) != all.end();
}

// A kernel without data, or a size without bytes, proves nothing.
Status Bench::lead_proof(Context& context, std::size_t size_index) {
  proved_messages_ = proved_bytes_ = 0;
  if (!verify_) return {};
  const Brought brought = brought_by_call(size_index);
  if (brought.bytes == 0) return {};
  const std::uint64_t calls = calls_in_round(size_index);
  const ProofShare share = proof_share(proof_time_ns_, sizes_.size());
  const double began_ns = monotonic_now_ns();
  double now_ns = began_ns;
  for (std::uint64_t rounds = 0;
       !stopped_ && share.wants_round(rounds, proved_messages_, now_ns - began_ns); ++rounds) {
    if (now_ns >= context.deadline_monotonic_ns)
      return fail(Code::kDeadlineExceeded, "{}: the task's deadline has come", operation_.name);
    const std::uint64_t first = rounds * calls;
    send_order(Act::kProve, size_index, first);
    RG_TRY_OK(prove(tick_clock(context), size_index, first));
    proved_messages_ += calls * brought.messages;
    proved_bytes_ += calls * brought.bytes;
    now_ns = monotonic_now_ns();
  }
  return {};
}

// A round of calls. A rank that found a fault continues with the others, who wait for it inside
// MPI.
Status Bench::prove(const TickClock& clock, std::size_t size_index, std::uint64_t first) {
  const Share share = share_of_proof(size_index);
  Work work{operation_, *mpi_, clock, share, send_, receive_, parts_, target_staged_};
  work.form = form_;
  work.compute_ticks = compute_ticks_;
  work.polls = polls_;
  work.in_place = in_place_;
  work.sync = sync_;
  Status found;
  const std::uint64_t calls = calls_in_round(size_index);
  for (std::uint64_t k = 0; k < calls; ++k) {
    const Content content = content_of(size_index, kFirstProofCall + first + k);
    prove_call(work, content);
    // A copy that failed on the way is reported here.
    if (found) found = send_.status();
    if (found) found = receive_.status();
    if (found) found = compare_call(share, content);
  }
  agree_on(found);
  return found;
}

// Fresh data, the call, and the host's view of what came. Where other ranks reach into this one's
// memory they must not come before it is fresh, nor may it be looked at before they are done.
void Bench::prove_call(Work& work, const Content& content) {
  const bool is_exposed = operation_.exposed != Exposed::kNothing;
  for (const Segment& segment : operation_.sent(work.share))
    fill_segment(send_.view(), segment, content);
  send_.push(0, operation_.send_bytes(work.share));
  const std::uint64_t received = operation_.receive_bytes(work.share);
  std::ranges::fill(receive_.view().first(received), kNotReceived);
  receive_.push(0, received);
  send_.forget_host_copy(operation_.send_bytes(work.share));
  if (is_exposed) {
    mpi_->sync();
    mpi_->barrier();
  }
  std::array<std::uint64_t, 1> unused{};
  operation_.play(work, unused);
  if (is_exposed) {
    mpi_->barrier();
    mpi_->sync();
  }
  receive_.pull(0, received);
}

Status Bench::compare_call(const Share& share, const Content& content) const {
  const std::vector<Segment> segments = operation_.received(share);
  for (std::size_t i = 0; i < segments.size(); ++i)
    if (const auto wrong = wrong_in(receive_.view(), segments[i], content))
      return fail(
          Code::kDataLoss, "rank {}: verify {}: {}", rank_,
          operation_.reduces ? "the sum" : fmt::format("what rank {} sent", segments[i].rank),
          fault_in(share, content, segments, i, *wrong));
  return {};
}

// The messages of a window are numbered one by one; any other call is one message, whatever ranks
// its parts come from.
std::string Bench::fault_in(const Share& share, const Content& content,
                            std::span<const Segment> segments, std::size_t wrong,
                            const std::string& difference) const {
  const std::uint64_t call = content.number - kFirstProofCall;
  const std::uint64_t slots = operation_.windowed ? segments.size() : 1;
  const ProofRound round{.first = call * slots, .slots = slots};
  const auto segment_of = [&](std::uint64_t slot) {
    return segments[operation_.windowed ? slot : wrong];
  };
  ProofSlots look;
  if (segments[wrong].bytes >= kLeastRecognised)
    look.holds = [&](std::uint64_t slot, std::uint64_t number) {
      Segment part = segment_of(slot);
      part.bytes = std::min(part.bytes, kMostRecognised);
      if (operation_.windowed) part.block = segments[number % slots].block;
      Content other = content;
      other.number = kFirstProofCall + number / slots;
      return !wrong_in(receive_.view(), part, other);
    };
  look.untouched = [&](std::uint64_t slot) {
    const Segment part = segment_of(slot);
    return std::ranges::all_of(receive_.view().subspan(part.offset, part.bytes),
                               [](std::byte one) { return one == kNotReceived; });
  };
  return proof_words(round, share.bytes, name_fault(round, operation_.windowed ? wrong : 0, look),
                     difference);
}

}  // namespace railgauge::mpi

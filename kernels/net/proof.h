// The proof after a TCP size's timed part: numbered messages, each with a content of its own, on
// the same streams. The receiver compares every byte. See kernels/core/proof/proof_plan.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/proof/proof_plan.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/net/pattern.h"
#include "kernels/net/pipe.h"

namespace railgauge::net {

// Slots of messages in host memory, of one sender or one receiver. Not thread safe.
class ProofRing {
 public:
  ProofRing() = default;
  // Allocates for the largest ring among the sizes; kResourceExhausted.
  static Result<ProofRing> allocate(std::span<const std::uint64_t> sizes);

  // Makes the slots those of a size, one of allocate()'s.
  void begin(std::uint64_t message_bytes) { message_bytes_ = message_bytes; }
  [[nodiscard]] std::uint64_t slots() const { return proof_slots(message_bytes_); }
  [[nodiscard]] std::span<std::byte> slot(std::uint64_t number) const {
    return memory_.span().subspan(number * message_bytes_, message_bytes_);
  }
  // Writes the round's messages of `sender`.
  void fill(const Sender& sender, const ProofRound& round) const;
  // Overwrites all slots, so that a message that does not come shows.
  void clear() const;
  // Compares the round's messages; kDataLoss names the first wrong one and its fault.
  [[nodiscard]] Status compare(const Sender& sender, const ProofRound& round,
                               const std::string& who) const;

 private:
  HostBuffer memory_;
  std::uint64_t message_bytes_ = 0;
};

// A size's proof on all streams of a link at once, in one direction or both.
struct StreamProof {
  // The streams on which this rank sends, and those on which it receives. Empty: it does not.
  std::span<Pipe> outward{};
  std::span<Pipe> inward{};
  std::uint64_t message_bytes = 0;
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  // The share of each stream and direction. Only a sender's decides.
  ProofShare share{};
  double deadline_monotonic_ns = 0;
  // This end: "192.0.2.1 (eth0)".
  std::string who{};
};

// Sends and receives in a thread for each stream and direction until all are done, and returns the
// number of messages that this rank received and found right. The streams may be closed after an
// error. kDataLoss for wrong bytes; kAborted where the other side ended the proof, whose own error
// says why.
Result<std::uint64_t> prove_streams(const StreamProof& proof);

// Adds what was proved to a point's facts.
template <class Facts>
void add_proved(std::uint64_t messages, std::uint64_t message_bytes, Facts& facts) {
  facts["proved_messages"] = std::to_string(messages);
  facts["proved_bytes"] = std::to_string(messages * message_bytes);
}

}  // namespace railgauge::net

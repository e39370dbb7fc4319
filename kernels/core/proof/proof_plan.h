// The proof phase of a size: which messages, in which rounds, and the words for what was found.
// Each message has a content that follows from sender, size and message number, so equal bytes
// prove the number and every byte: more than a sequence number and a checksum would. Pure; thread
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace railgauge {

// Messages that a task proves, all sizes together, unless its proof time is over before.
inline constexpr std::uint64_t kProofMessages = 500'000;

// Slots of a ring: as many messages as 8 MiB hold, 1 to 512. One round sends each slot once.
std::uint64_t proof_slots(std::uint64_t message_bytes);

// One part of a task's proof: a size's, or one link's of a size.
struct ProofShare {
  std::uint64_t messages = 0;
  double time_ns = 0;

  // Whether to begin another round after `rounds`, which proved `proved` messages in `spent_ns`.
  // Every part has at least one.
  [[nodiscard]] bool wants_round(std::uint64_t rounds, std::uint64_t proved,
                                 double spent_ns) const {
    return rounds == 0 || (proved < messages && spent_ns < time_ns);
  }
};
// Divides the task's messages and its proof time, the parameter of InfoBuilder::proof_time(), into
// `parts` equal shares; `parts` is at least 1.
ProofShare proof_share(double proof_time_ns, std::size_t parts);

// One round: message `first` + k is in slot k.
struct ProofRound {
  std::uint64_t first = 0;
  std::uint64_t slots = 0;
};

// The fate of a message whose slot has other bytes than its own.
enum class ProofFault : std::uint8_t {
  kCorrupt,     // the bytes are no message's of this round or the one before
  kDropped,     // it did not come
  kRepeated,    // another message came twice, the second time in its place
  kOutOfOrder,  // it came, in the place of another one
};
// "corrupt", "dropped", "repeated", "out of order".
std::string_view fault_words(ProofFault fault);

// How a receiver looks at its slots after a round.
struct ProofSlots {
  // Whether slot k holds the content of message `number`; the first 8 bytes suffice. Empty where a
  // message is too short to be recognised by its content.
  std::function<bool(std::uint64_t slot, std::uint64_t number)> holds;
  // Whether slot k still has the bytes that the receiver cleared it to; empty where it clears none.
  std::function<bool(std::uint64_t slot)> untouched;
};
// The first wrong slot of a round.
struct ProofFinding {
  std::uint64_t slot = 0;
  ProofFault fault = ProofFault::kCorrupt;
  // The message whose content the slot has, if it is another one's.
  std::optional<std::uint64_t> holds{};
};
// Names what happened to the message of `slot`, the first slot of the round with wrong bytes.
ProofFinding name_fault(const ProofRound& round, std::uint64_t slot, const ProofSlots& slots);

// "message 41234 of 64KiB, slot 18: byte 17 is 0x00, expected 0x7f; it holds message 41235: out of
// order". `difference` is the words of the first wrong byte, which end in ", expected ...".
std::string proof_words(const ProofRound& round, std::uint64_t message_bytes,
                        const ProofFinding& finding, const std::string& difference);

}  // namespace railgauge

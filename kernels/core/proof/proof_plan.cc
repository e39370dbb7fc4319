#include "kernels/core/proof/proof_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr std::uint64_t kRingBytes = 8U << 20U;
constexpr std::uint64_t kMostSlots = 512;

// The message in `slot`: one of this round or of the one before, whose numbers are as many below.
std::optional<std::uint64_t> held_message(const ProofRound& round, std::uint64_t slot,
                                          const ProofSlots& slots) {
  if (!slots.holds) return std::nullopt;
  const std::uint64_t before = std::min(round.first, round.slots);
  for (std::uint64_t number = round.first - before; number < round.first + round.slots; ++number)
    if (slots.holds(slot, number)) return number;
  return std::nullopt;
}

bool came_elsewhere(const ProofRound& round, std::uint64_t slot, const ProofSlots& slots) {
  for (std::uint64_t other = slot + 1; other < round.slots; ++other)
    if (slots.holds(other, round.first + slot)) return true;
  return false;
}

// Slots before this one are right. So an earlier message of the round has come twice; a later one
// is here because this one came later, or never. A message of the round before is what was here
// already, unless the slot had been cleared.
ProofFault fault_of(const ProofRound& round, std::uint64_t slot, std::uint64_t held,
                    const ProofSlots& slots) {
  if (held < round.first) return slots.untouched ? ProofFault::kRepeated : ProofFault::kDropped;
  if (held < round.first + slot) return ProofFault::kRepeated;
  return came_elsewhere(round, slot, slots) ? ProofFault::kOutOfOrder : ProofFault::kDropped;
}

}  // namespace

std::uint64_t proof_slots(std::uint64_t message_bytes) {
  return std::clamp<std::uint64_t>(kRingBytes / std::max<std::uint64_t>(1, message_bytes), 1,
                                   kMostSlots);
}

ProofShare proof_share(double proof_time_ns, std::size_t parts) {
  return {.messages = (kProofMessages + parts - 1) / parts,
          .time_ns = proof_time_ns / static_cast<double>(parts)};
}

std::string_view fault_words(ProofFault fault) {
  switch (fault) {
    case ProofFault::kCorrupt:
      return "corrupt";
    case ProofFault::kDropped:
      return "dropped";
    case ProofFault::kRepeated:
      return "repeated";
    case ProofFault::kOutOfOrder:
      break;
  }
  return "out of order";
}

ProofFinding name_fault(const ProofRound& round, std::uint64_t slot, const ProofSlots& slots) {
  ProofFinding finding{.slot = slot};
  if (slots.untouched && slots.untouched(slot)) {
    finding.fault = ProofFault::kDropped;
    return finding;
  }
  finding.holds = held_message(round, slot, slots);
  // Its own number: the bytes by which a message is recognised are right, others are not.
  if (finding.holds == round.first + slot) finding.holds.reset();
  if (finding.holds) finding.fault = fault_of(round, slot, *finding.holds, slots);
  return finding;
}

std::string proof_words(const ProofRound& round, std::uint64_t message_bytes,
                        const ProofFinding& finding, const std::string& difference) {
  std::string words = fmt::format("message {} of {}, slot {}: {}; ", round.first + finding.slot,
                                  canonical_bytes(message_bytes), finding.slot, difference);
  if (finding.holds) words += fmt::format("it holds message {}: ", *finding.holds);
  return words += fault_words(finding.fault);
}

}  // namespace railgauge

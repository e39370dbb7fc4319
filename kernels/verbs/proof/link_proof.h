// The proof after a size's timed part: numbered messages on the link's own queue pairs, each with a
// content of its own. The side where the data arrives compares every byte. See
// kernels/core/proof/proof_plan.h.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/proof/proof_plan.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {

struct LinkProof {
  std::size_t size_index = 0;
  std::uint64_t message_bytes = 0;
  std::uint32_t rank = 0;
  // Both ranks initiate, one after the other, instead of rank 0 alone.
  bool both = false;
  // The slots of the receive area for which the link's receives are posted; read for sends alone.
  Slots receives{};
  // Each direction's. Only the initiator's decides.
  ProofShare share{};
};

// The result of a proof.
struct Proved {
  // Found right, in all directions.
  std::uint64_t messages = 0;
  // Sent; more than that only on an unreliable transport.
  std::uint64_t sent = 0;
  // The other rank found wrong bytes: its own error has the words.
  bool peer_found_mismatch = false;
};
// Sends rounds of messages and compares them; both ranks call, with nothing in flight. A message
// that an unreliable transport lost is not counted and is no error.
//
// Atomics: the value that each one fetches, and the word that each round leaves, are the proof.
//
// kDataLoss names the first wrong message, on the rank that found it; the other rank succeeds, and
// learns of it where the two agree.
Result<Proved> prove_link(Link& link, ControlChannel& control, const TickClock& clock,
                          const LinkProof& proof);

// Adds what was proved, if anything was sent for it, to a point's facts; with a loss also the share
// that came.
template <class Facts>
void add_proved(const Proved& proved, std::uint64_t message_bytes, Facts& facts) {
  if (proved.sent == 0) return;
  facts["proved_messages"] = std::to_string(proved.messages);
  facts["proved_bytes"] = std::to_string(proved.messages * message_bytes);
  if (proved.messages < proved.sent)
    facts["proof_delivered_share"] = fmt::format(
        "{:.6f}", static_cast<double>(proved.messages) / static_cast<double>(proved.sent));
}

}  // namespace railgauge::verbs

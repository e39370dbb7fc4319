// The content of a link's two areas while one size is measured, and the verification that the
// messages delivered the sent bytes. All work is outside timed regions.
#pragma once

#include <cstdint>

#include "kernels/core/base/result.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {

// Source and target of one size's messages: source slot k goes to target slot k.
struct Layout {
  // In the send area of the side whose data moves.
  Slots source;
  // In the receive area of the side where the data arrives.
  Slots target;
};
// Returns a stream's layout: messages move through the link's ring, atomics through words of their
// own lane.
Layout stream_layout(const Link& link, std::uint64_t message_bytes);
// Returns the layout of one message at a time: at the area's first byte, a datagram behind its GRH.
Layout single_layout(const Link& link, std::uint64_t message_bytes);
// Returns the layout of messages one after another: as single_layout() has it, or a cold link's
// ring. Sends arrive in slots of the link's largest message, because receives are posted once.
Layout latency_layout(const Link& link, std::uint64_t message_bytes);
// Returns the bytes that an area needs for messages of at most `largest_bytes`.
std::size_t area_bytes_for(const Operation& operation, std::uint64_t largest_bytes,
                           std::uint32_t lanes);

// Prepares a size: writes the data that `rank` sends (or the peer reads) and clears the bytes that
// it will receive.
Status set_up_areas(const Link& link, const Layout& layout, std::size_t size_index,
                    std::uint32_t rank);

// The layout after the renewal: what is sent then differs from what was sent before, so that
// verification covers it. The source has it renewal_offset() further on.
Layout renewed(Layout layout);
// Prepares the renewed source of a stream, which continues there in full flow; for a layout whose
// area has the room, as area_bytes_for() has it.
Status set_up_renewal(const Link& link, const Layout& layout, std::size_t size_index,
                      std::uint32_t rank);
// Renews in place what this rank sends, or clears what it reads, with nothing in flight; does
// nothing for atomics, whose every operation counts.
Status renew_areas(const Link& link, const Layout& layout, std::size_t size_index,
                   std::uint32_t rank);

// The changes that the other rank's posts make, as that rank reports them: `slots` messages of
// writes or sends by rank `from`, or `posted` atomics. `uncompared` as in verify_slots.
struct Brought {
  // Position in the list of sizes; part of the pattern's seed.
  std::size_t size_index = 0;
  std::uint32_t from = 0;
  std::uint64_t slots = 0;
  std::uint64_t posted = 0;
  // The first slots that surely hold what was sent after the renewal. The others may hold what was
  // sent before.
  std::uint64_t renewed = 0;
  std::size_t uncompared = 0;
  // The slot of the first one; only alike slots begin elsewhere than in the first one.
  std::size_t first_slot = 0;
};
// Verifies the changes in this rank's receive area. kDataLoss names the fault; kInternal when the
// peer's report does not fit the layout.
Status verify_target(const Link& link, const Layout& layout, const Brought& brought);
// Verifies the data of this rank's reads: `slots` messages from rank `from`.
Status verify_fetched(const Link& link, const Layout& layout, const Brought& brought);

}  // namespace railgauge::verbs

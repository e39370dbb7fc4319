// The content of the two areas of a link while one size is measured, and the proof that the
// messages delivered the sent bytes. All of it is outside timed regions.
#pragma once

#include <cstdint>

#include "kernels/core/base/result.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {

// Where the messages of one size come from and go to: slot k of the one to slot k of the other.
struct Layout {
  // In the send area of the side whose data moves.
  Slots source;
  // In the receive area of the side where the data arrives.
  Slots target;
};
// For a stream: small messages move through a page, atomics through words that each lane has alone.
Layout stream_layout(const Link& link, std::uint64_t message_bytes);
// For one message at a time: it begins at the area's first byte, a datagram behind its GRH.
Layout single_layout(const Link& link, std::uint64_t message_bytes);
// The bytes that an area needs for messages of at most `largest_bytes`.
std::size_t area_bytes_for(const Operation& operation, std::uint64_t largest_bytes,
                           std::uint32_t lanes);

// Before a size: what `rank` sends (or has read), and nothing yet of what it shall get.
Status set_up_areas(const Link& link, const Layout& layout, std::size_t size_index,
                    std::uint32_t rank);

// The changes by the other rank's posts, as that rank reports them: `slots` messages' worth of
// writes or sends by rank `from`, or `posted` atomics. `uncompared` as in verify_slots.
struct Brought {
  // Position in the list of sizes; part of the pattern's seed.
  std::size_t size_index = 0;
  std::uint32_t from = 0;
  std::uint64_t slots = 0;
  std::uint64_t posted = 0;
  std::size_t uncompared = 0;
};
// Verifies those changes in this rank's receive area. kDataLoss names the fault; kInternal where
// the peer's report does not fit the layout.
Status verify_target(const Link& link, const Layout& layout, const Brought& brought);
// Verifies the data of this rank's reads: `slots` messages' worth from rank `from`.
Status verify_fetched(const Link& link, const Layout& layout, const Brought& brought);

}  // namespace railgauge::verbs

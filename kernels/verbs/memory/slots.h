// The slots of one size's messages, and their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/verbs/memory/memory.h"

namespace railgauge::verbs {

// Slot k begins k * stride_bytes into the area.
struct Slots {
  // Bytes of a message.
  std::size_t bytes = 0;
  // Distance between two slots; 0 where there is one.
  std::size_t stride_bytes = 0;
  std::size_t count = 1;
  // Offset of the message in its slot: the GRH before a datagram.
  std::size_t offset_bytes = 0;
  // Number of the message whose content slot 0 holds.
  std::size_t first_number = 0;
  // All slots hold the same bytes, because any message may come to any slot.
  bool are_alike = false;
};
// Small messages move through one page, as perftest's do: all writes to one cache line would
// measure that line. Both ranks come to the same slots, whatever their page sizes, when both give
// the smaller one of their areas.
Slots slots_in(std::size_t area_bytes, std::size_t message_bytes, std::size_t offset_bytes = 0);

// Fills the slots' bytes with what `rank` writes for size number `size_index`; the gaps stay.
// An area begins `begin` bytes into its memory.
struct Area {
  Memory& memory;
  std::size_t begin = 0;
};
Status fill_slots(const Area& area, const Slots& slots, std::size_t size_index, std::uint32_t rank);
// Zeros in the slots' bytes.
Status clear_slots(const Area& area, const Slots& slots);
// Compares `slots.count` slots with what `rank` wrote; `uncompared` bytes at a message's end are
// left out. Wrong bytes are kDataLoss, with their offset in the area. `what` is "fake1:1: verify a
// 64 write" without the size: thing and operation.
struct Compared {
  std::string who;        // "fake1:1"
  std::string_view what;  // "write"
};
Status verify_slots(const Area& area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const Compared& compared);

}  // namespace railgauge::verbs

// The slots of one size's messages, and their content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/verbs/memory/memory.h"

namespace railgauge::verbs {

// Slot k begins k * stride_bytes into the area.
struct Slots {
  // Bytes of a message.
  std::size_t bytes = 0;
  // Distance between two slots; 0 for a single slot.
  std::size_t stride_bytes = 0;
  std::size_t count = 1;
  // Offset of the message in its slot: the GRH before a datagram.
  std::size_t offset_bytes = 0;
  // Number of the message whose content slot 0 holds.
  std::size_t first_number = 0;
  // All slots hold the same bytes, because any message may arrive in any slot.
  bool are_alike = false;
  // A slot's content follows from its place instead of its number: one pattern runs through all
  // slots and the gaps between them.
  bool is_placed = false;
  // The slots hold the content of after the renewal, which each size has between its warm-up and
  // its first kept sample.
  bool is_renewed = false;
  // The first slot where the content of before the renewal is right as well.
  std::size_t old_from = SIZE_MAX;
};
// A message's content after the renewal is its pattern from this byte on. So a source of one
// message has both contents where it has so many bytes more.
inline constexpr std::size_t kRenewedBytes = 4096;
// The smallest page that any of our machines has. Messages move through it, as perftest's do,
// because writes to a single cache line would measure that line.
inline constexpr std::size_t kHotRingBytes = 4096;
// The ring of messages that shall find none of their bytes in a cache: more than most caches hold.
inline constexpr std::size_t kColdRingBytes = 64U << 20U;
// Returns the slots of one size: as many as fit `ring_bytes`, or one where that is less than two.
// Slots of a ring above a page are placed. Both ranks get equal slots on any page size when both
// pass the smaller of their areas.
Slots slots_in(std::size_t area_bytes, std::size_t message_bytes, std::size_t offset_bytes = 0,
               std::size_t ring_bytes = kHotRingBytes);

// Reports whether the slots are a ring above a page, whose messages find none of their bytes in a
// cache. It is filled, cleared and compared as a whole, gaps included.
bool is_cold_ring(const Slots& slots);
// Returns the distance in bytes from the slots to those with the content of after the renewal. A
// cold ring of alike slots has the second content behind it, in a ring of its own.
std::size_t renewal_offset(const Slots& slots);

// An area: it begins `begin` bytes into its memory.
struct Area {
  Memory& memory;
  std::size_t begin = 0;
};
// Fills the slots with the content that `rank` writes for size number `size_index`; gaps stay
// unchanged, but those of a cold ring.
Status fill_slots(const Area& area, const Slots& slots, std::size_t size_index, std::uint32_t rank);
// Writes zeros into the slots.
Status clear_slots(const Area& area, const Slots& slots);
// A message by its content.
struct SlotMessage {
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  std::size_t number = 0;
  bool is_renewed = false;
};
// The seed of its pattern.
std::uint64_t message_seed(const SlotMessage& message);
// Describes the first difference of the first `bytes` in a slot from a message's; absent when none.
Result<std::optional<std::string>> message_difference(const Area& area, const Slots& slots,
                                                      std::size_t slot, const SlotMessage& message,
                                                      std::size_t bytes);
// Copies the beginning of a slot's message into `out`.
Status read_slot(const Area& area, const Slots& slots, std::size_t slot, std::span<std::byte> out);
// The words of a verification message: "fake1:1: verify a 64 write" without the size.
struct Compared {
  std::string who;        // "fake1:1"
  std::string_view what;  // "write"
};
// Compares `slots.count` slots with the content that `rank` writes, except for `uncompared` bytes
// at each message's end. Wrong bytes are kDataLoss, with their offset in the area.
Status verify_slots(const Area& area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const Compared& compared);

}  // namespace railgauge::verbs

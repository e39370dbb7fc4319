#include "kernels/verbs/memory/slots.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {
namespace {

// The seed whose pattern is that of `seed` from byte `bytes` on, a multiple of 8: the pattern takes
// a seed as the place where it begins, and steps by this from word to word.
std::uint64_t seed_at(std::uint64_t seed, std::size_t bytes) {
  constexpr std::uint64_t kWordStep = 0x9e3779b97f4a7c15U;
  return seed + bytes / sizeof seed * kWordStep;
}

// No two slots of a task hold the same bytes, unless they are to be alike.
std::uint64_t slot_seed(const Slots& slots, std::size_t size_index, std::uint32_t rank,
                        std::size_t slot) {
  const bool is_numbered = !slots.are_alike && !slots.is_placed;
  const std::uint64_t seed = message_seed(
      {size_index, rank, slots.first_number + (is_numbered ? slot : 0), slots.is_renewed});
  return slots.is_placed ? seed_at(seed, slot * slots.stride_bytes) : seed;
}

// Offset of a message in its memory.
std::size_t message_at(const Area& area, const Slots& slots, std::size_t slot) {
  return area.begin + slot * slots.stride_bytes + slots.offset_bytes;
}

// Bytes from the first message's begin to the last one's end.
std::size_t span_of(const Slots& slots) {
  return (slots.count - 1) * slots.stride_bytes + slots.bytes;
}

}  // namespace

std::uint64_t message_seed(const SlotMessage& message) {
  constexpr unsigned kNumberShift = 32;
  const std::uint64_t seed = 0x7261696c67617567U + 2 * message.size_index + message.rank +
                             (std::uint64_t{message.number} << kNumberShift);
  return seed_at(seed, message.is_renewed ? kRenewedBytes : 0);
}

Result<std::optional<std::string>> message_difference(const Area& area, const Slots& slots,
                                                      std::size_t slot, const SlotMessage& message,
                                                      std::size_t bytes) {
  const std::size_t at = message_at(area, slots, slot);
  return area.memory.difference(at, bytes, message_seed(message), at - area.begin);
}

Status read_slot(const Area& area, const Slots& slots, std::size_t slot, std::span<std::byte> out) {
  return area.memory.read(message_at(area, slots, slot), out);
}

// At least two slots fit the ring, or there is one slot of the whole message.
Slots slots_in(std::size_t area_bytes, std::size_t message_bytes, std::size_t offset_bytes,
               std::size_t ring_bytes) {
  constexpr std::size_t kCacheLineBytes = 64;
  const std::size_t ring = std::min(area_bytes, ring_bytes);
  const std::size_t slot_bytes = message_bytes + offset_bytes;
  const std::size_t stride = (slot_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  if (2 * stride > ring) return {.bytes = message_bytes, .offset_bytes = offset_bytes};
  return {.bytes = message_bytes,
          .stride_bytes = stride,
          .count = ring / stride,
          .offset_bytes = offset_bytes,
          .is_placed = ring_bytes > kHotRingBytes};
}

bool is_cold_ring(const Slots& slots) {
  return slots.is_placed || (slots.are_alike && span_of(slots) > kHotRingBytes && slots.count > 1);
}

// Rounded up to pages, so that both rings begin alike.
std::size_t renewal_offset(const Slots& slots) {
  if (slots.is_placed || !is_cold_ring(slots)) return kRenewedBytes;
  const std::size_t ring = slots.count * slots.stride_bytes;
  return (ring + kRenewedBytes - 1) / kRenewedBytes * kRenewedBytes;
}

Status fill_slots(const Area& area, const Slots& slots, std::size_t size_index,
                  std::uint32_t rank) {
  const std::size_t first = message_at(area, slots, 0);
  const std::uint64_t seed = slot_seed(slots, size_index, rank, 0);
  if (slots.is_placed) return area.memory.fill(first, span_of(slots), seed);
  if (is_cold_ring(slots)) {
    RG_TRY_OK(area.memory.fill(first, slots.bytes, seed));
    return area.memory.repeat(first, slots.stride_bytes, span_of(slots));
  }
  for (std::size_t k = 0; k < slots.count; ++k)
    RG_TRY_OK(area.memory.fill(message_at(area, slots, k), slots.bytes,
                               slot_seed(slots, size_index, rank, k)));
  return {};
}

Status clear_slots(const Area& area, const Slots& slots) {
  if (is_cold_ring(slots)) return area.memory.clear(message_at(area, slots, 0), span_of(slots));
  for (std::size_t k = 0; k < slots.count; ++k)
    RG_TRY_OK(area.memory.clear(message_at(area, slots, k), slots.bytes));
  return {};
}

// Stops at the first wrong slot. Many slots of a GPU's memory are compared in a copy.
Status verify_slots(const Area& area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const Compared& compared) {
  RG_CHECK(uncompared <= slots.bytes);
  std::vector<std::byte> copy(is_cold_ring(slots) && !area.memory.is_host() ? span_of(slots) : 0);
  if (!copy.empty()) RG_TRY_OK(area.memory.read(message_at(area, slots, 0), copy));
  for (std::size_t k = 0; k < slots.count; ++k) {
    const std::size_t at = message_at(area, slots, k);
    const auto difference = [&](bool is_renewed) -> Result<std::optional<std::string>> {
      Slots as = slots;
      as.is_renewed = is_renewed;
      const std::uint64_t seed = slot_seed(as, size_index, rank, k);
      const std::size_t bytes = slots.bytes - uncompared;
      if (copy.empty()) return area.memory.difference(at, bytes, seed, at - area.begin);
      const auto found =
          find_mismatch(std::span(copy).subspan(k * slots.stride_bytes, bytes), seed);
      if (!found) return std::nullopt;
      return mismatch_words(*found, at - area.begin);
    };
    const auto found = RG_TRY(difference(slots.is_renewed));
    const bool may_be_old = slots.is_renewed && k >= slots.old_from;
    if (found && !(may_be_old && !RG_TRY(difference(false))))
      return fail(Code::kDataLoss,
                  fmt::format("{}: verify a {} {}: {}", compared.who, canonical_bytes(slots.bytes),
                              compared.what, *found));
  }
  return {};
}

}  // namespace railgauge::verbs

#include "kernels/verbs/slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/units.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {
namespace {

// No two slots of a task hold the same bytes, unless they are to be alike.
std::uint64_t slot_seed(const Slots& slots, std::size_t size_index, std::uint32_t rank,
                        std::size_t slot) {
  constexpr unsigned kSlotShift = 32;
  const std::uint64_t number = slots.are_alike ? 0 : slot;
  return 0x7261696c67617567U + 2 * size_index + rank + (number << kSlotShift);
}

template <class Byte>
std::span<Byte> message_in(std::span<Byte> area, const Slots& slots, std::size_t slot) {
  return area.subspan(slot * slots.stride_bytes + slots.offset_bytes, slots.bytes);
}

}  // namespace

Slots slots_in(std::size_t area_bytes, std::size_t message_bytes, std::size_t offset_bytes) {
  constexpr std::size_t kCacheLineBytes = 64;
  constexpr std::size_t kPageBytes = 4096;  // the smallest page that any of our machines has
  const std::size_t page = std::min(area_bytes, kPageBytes);
  const std::size_t slot_bytes = message_bytes + offset_bytes;
  const std::size_t stride = (slot_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  if (2 * stride > page) return {.bytes = message_bytes, .offset_bytes = offset_bytes};
  return {.bytes = message_bytes,
          .stride_bytes = stride,
          .count = page / stride,
          .offset_bytes = offset_bytes};
}

void fill_slots(std::span<std::byte> area, const Slots& slots, std::size_t size_index,
                std::uint32_t rank) {
  for (std::size_t k = 0; k < slots.count; ++k)
    fill_pattern(message_in(area, slots, k), slot_seed(slots, size_index, rank, k));
}

void clear_slots(std::span<std::byte> area, const Slots& slots) {
  for (std::size_t k = 0; k < slots.count; ++k)
    std::ranges::fill(message_in(area, slots, k), std::byte{0});
}

Status verify_slots(std::span<const std::byte> area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const Compared& compared) {
  RG_CHECK(uncompared <= slots.bytes);
  for (std::size_t k = 0; k < slots.count; ++k) {
    const auto message = message_in(area, slots, k).first(slots.bytes - uncompared);
    const auto mismatch = find_mismatch(message, slot_seed(slots, size_index, rank, k));
    if (!mismatch) continue;
    return fail(Code::kDataLoss,
                fmt::format("{}: verify a {} {}: byte {} is 0x{:02x}, expected 0x{:02x}",
                            compared.who, canonical_bytes(slots.bytes), compared.what,
                            k * slots.stride_bytes + slots.offset_bytes + mismatch->offset,
                            mismatch->seen, mismatch->expected));
  }
  return {};
}

}  // namespace railgauge::verbs

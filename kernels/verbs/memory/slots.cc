#include "kernels/verbs/memory/slots.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::verbs {
namespace {

// No two slots of a task hold the same bytes, unless they are to be alike.
std::uint64_t slot_seed(const Slots& slots, std::size_t size_index, std::uint32_t rank,
                        std::size_t slot) {
  return message_seed(
      {size_index, rank, slots.first_number + (slots.are_alike ? 0 : slot), slots.is_renewed});
}

// Offset of a message in its memory.
std::size_t message_at(const Area& area, const Slots& slots, std::size_t slot) {
  return area.begin + slot * slots.stride_bytes + slots.offset_bytes;
}

}  // namespace

std::uint64_t message_seed(const SlotMessage& message) {
  constexpr unsigned kNumberShift = 32;
  // The pattern's step from word to word: it takes a seed as the place where it begins.
  constexpr std::uint64_t kWordStep = 0x9e3779b97f4a7c15U;
  const std::uint64_t seed = 0x7261696c67617567U + 2 * message.size_index + message.rank +
                             (std::uint64_t{message.number} << kNumberShift);
  return message.is_renewed ? seed + kRenewedBytes / sizeof seed * kWordStep : seed;
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

// At least two slots fit a page, or there is one slot of the whole message.
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

Status fill_slots(const Area& area, const Slots& slots, std::size_t size_index,
                  std::uint32_t rank) {
  for (std::size_t k = 0; k < slots.count; ++k)
    RG_TRY_OK(area.memory.fill(message_at(area, slots, k), slots.bytes,
                               slot_seed(slots, size_index, rank, k)));
  return {};
}

Status clear_slots(const Area& area, const Slots& slots) {
  for (std::size_t k = 0; k < slots.count; ++k)
    RG_TRY_OK(area.memory.clear(message_at(area, slots, k), slots.bytes));
  return {};
}

// Stops at the first wrong slot.
Status verify_slots(const Area& area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const Compared& compared) {
  RG_CHECK(uncompared <= slots.bytes);
  for (std::size_t k = 0; k < slots.count; ++k) {
    const std::size_t at = message_at(area, slots, k);
    const auto difference = [&](bool is_renewed) {
      Slots as = slots;
      as.is_renewed = is_renewed;
      return area.memory.difference(at, slots.bytes - uncompared,
                                    slot_seed(as, size_index, rank, k), at - area.begin);
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

#include "kernels/verbs/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/units.h"
#include "kernels/dl/verbs.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {
namespace {

// No two slots of a task hold the same bytes.
std::uint64_t slot_seed(std::size_t size_index, std::uint32_t rank, std::size_t slot) {
  constexpr unsigned kSlotShift = 32;
  return 0x7261696c67617567U + 2 * size_index + rank + (std::uint64_t{slot} << kSlotShift);
}

}  // namespace

Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples) {
  return make_point(names, message_bytes, sampled, raw_samples, loaded_verbs().synthetic);
}

Slots slots_in(std::size_t area_bytes, std::size_t message_bytes) {
  constexpr std::size_t kCacheLineBytes = 64;
  constexpr std::size_t kPageBytes = 4096;  // the smallest page that any of our machines has
  const std::size_t page = std::min(area_bytes, kPageBytes);
  const std::size_t stride =
      (message_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  if (2 * stride > page) return {.bytes = message_bytes};
  return {.bytes = message_bytes, .stride_bytes = stride, .count = page / stride};
}

void fill_slots(std::span<std::byte> area, const Slots& slots, std::size_t size_index,
                std::uint32_t rank) {
  for (std::size_t k = 0; k < slots.count; ++k)
    fill_pattern(area.subspan(k * slots.stride_bytes, slots.bytes), slot_seed(size_index, rank, k));
}

void clear_slots(std::span<std::byte> area, const Slots& slots) {
  for (std::size_t k = 0; k < slots.count; ++k)
    std::ranges::fill(area.subspan(k * slots.stride_bytes, slots.bytes), std::byte{0});
}

Status verify_slots(std::span<const std::byte> area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const std::string& who) {
  RG_CHECK(uncompared <= slots.bytes);
  for (std::size_t k = 0; k < slots.count; ++k) {
    const std::size_t begin = k * slots.stride_bytes;
    const auto mismatch = find_mismatch(area.subspan(begin, slots.bytes - uncompared),
                                        slot_seed(size_index, rank, k));
    if (!mismatch) continue;
    return fail(Code::kDataLoss,
                fmt::format("{}: verify a {} write: byte {} is 0x{:02x}, expected 0x{:02x}", who,
                            canonical_bytes(slots.bytes), begin + mismatch->offset, mismatch->seen,
                            mismatch->expected));
  }
  return {};
}

}  // namespace railgauge::verbs

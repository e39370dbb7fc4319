#include "kernels/verbs/link/areas.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace railgauge::verbs {
namespace {

// Atomics of different words do not share a line, which would serialise them.
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::uint32_t kWords = 64;  // that atomics move through, of all lanes

// Words of one lane: the total is shared out, and each lane has at least one.
std::size_t words_of_each(std::uint32_t lanes) { return std::max<std::size_t>(1, kWords / lanes); }

// The first half of the link's memory.
Area sending(const Link& link) { return {link.memory(), 0}; }
// The second half, where the peer's messages arrive.
Area receiving(const Link& link) { return {link.memory(), link.memory().size() / 2}; }

// For messages that any slot may take.
void make_alike(Slots& slots) {
  slots.are_alike = true;
  slots.is_placed = false;
}

// Compares the slots that the peer reports as used. kDataLoss names the first wrong byte; kInternal
// when the report exceeds the slots.
Status compare(const Link& link, Slots slots, const Brought& brought) {
  if (brought.slots == 0 || brought.slots > slots.count)
    return fail(Code::kInternal, fmt::format("rank {}: {} slots used, of {}", brought.from,
                                             brought.slots, slots.count));
  const Compared compared{link.device().endpoint(), link.operation().words};
  slots.old_from = static_cast<std::size_t>(brought.renewed);
  RG_CHECK(brought.first_slot == 0 || slots.are_alike);
  const auto verify = [&](std::size_t first, std::size_t count) -> Status {
    Slots part = slots;
    part.count = count;
    Area area = receiving(link);
    area.begin += first * slots.stride_bytes;
    return verify_slots(area, part, brought.size_index, brought.from, brought.uncompared, compared);
  };
  // The ring's end may be within.
  const auto to_end = std::min<std::size_t>(brought.slots, slots.count - brought.first_slot);
  RG_TRY_OK(verify(brought.first_slot, to_end));
  return to_end == brought.slots ? Status{} : verify(0, brought.slots - to_end);
}

// Each atomic that did its work added one to some word.
Status count_atomics(const Link& link, const Slots& slots, std::uint64_t posted) {
  std::uint64_t sum = 0;
  // One copy of the whole area: the words may be in a GPU's memory.
  std::vector<std::byte> area(link.receive_area().size());
  RG_TRY_OK(link.memory().read(receiving(link).begin, area));
  for (std::size_t k = 0; k < slots.count * link.options().lanes; ++k) {
    std::uint64_t word = 0;
    std::memcpy(&word, area.data() + k * slots.stride_bytes, sizeof word);
    sum += word;
  }
  if (sum == posted) return {};
  return fail(
      Code::kDataLoss,
      fmt::format("{}: verify {}: the words add up to {}, expected {}, as many as completed",
                  link.device().endpoint(), link.operation().words, sum, posted));
}

}  // namespace

// The receives of a send queue may take any message, so all slots of a send hold the same bytes.
Layout stream_layout(const Link& link, std::uint64_t message_bytes) {
  Layout layout;
  if (link.operation().is_atomic()) {
    layout.target = {.bytes = kAtomicBytes,
                     .stride_bytes = kCacheLineBytes,
                     .count = words_of_each(link.options().lanes)};
    layout.source = layout.target;
    return layout;
  }
  layout.target = slots_in(link.common_area_bytes() - kRenewedBytes, message_bytes,
                           link.grh_bytes(), link.options().ring_bytes);
  if (link.operation().verb == Verb::kSend) make_alike(layout.target);
  layout.source = layout.target;
  layout.source.offset_bytes = 0;
  return layout;
}

Layout single_layout(const Link& link, std::uint64_t message_bytes) {
  Layout layout;
  layout.source = {.bytes = message_bytes};
  layout.target = {.bytes = message_bytes, .offset_bytes = link.grh_bytes()};
  return layout;
}

Layout latency_layout(const Link& link, std::uint64_t message_bytes) {
  const std::size_t ring = link.options().ring_bytes;
  if (ring <= kHotRingBytes) return single_layout(link, message_bytes);
  Layout layout;
  layout.source = slots_in(link.common_area_bytes(), message_bytes, 0, ring);
  layout.target = layout.source;
  if (link.operation().verb != Verb::kSend) return layout;
  layout.target =
      slots_in(link.common_area_bytes(), link.options().largest_bytes, link.grh_bytes(), ring);
  layout.target.bytes = message_bytes;
  make_alike(layout.source);
  make_alike(layout.target);
  return layout;
}

std::size_t area_bytes_for(const Operation& operation, std::uint64_t largest_bytes,
                           std::uint32_t lanes) {
  if (!operation.is_atomic()) return largest_bytes + kRenewedBytes;
  return words_of_each(lanes) * lanes * kCacheLineBytes;
}

// Zeros in the receive area: bytes that never arrived differ from the pattern.
Status set_up_areas(const Link& link, const Layout& layout, std::size_t size_index,
                    std::uint32_t rank) {
  if (link.operation().is_atomic())
    return link.memory().clear(receiving(link).begin, link.receive_area().size());
  RG_TRY_OK(fill_slots(sending(link), layout.source, size_index, rank));
  return clear_slots(receiving(link), layout.target);
}

Layout renewed(Layout layout) {
  layout.source.is_renewed = layout.target.is_renewed = true;
  layout.source.offset_bytes += renewal_offset(layout.source);
  return layout;
}

// Overwrites the end of a single long message with the bytes that are there.
Status set_up_renewal(const Link& link, const Layout& layout, std::size_t size_index,
                      std::uint32_t rank) {
  if (link.operation().is_atomic()) return {};
  return fill_slots(sending(link), renewed(layout).source, size_index, rank);
}

// A read's data is the other rank's.
Status renew_areas(const Link& link, const Layout& layout, std::size_t size_index,
                   std::uint32_t rank) {
  if (link.operation().is_atomic()) return {};
  if (link.operation().verb == Verb::kRead) return clear_slots(receiving(link), layout.target);
  Slots source = layout.source;
  source.is_renewed = true;
  return fill_slots(sending(link), source, size_index, rank);
}

// Reads leave nothing at the target, so there is nothing to verify.
Status verify_target(const Link& link, const Layout& layout, const Brought& brought) {
  if (link.operation().is_atomic()) return count_atomics(link, layout.target, brought.posted);
  if (link.operation().verb == Verb::kRead) return {};
  return compare(link, layout.target, brought);
}

Status verify_fetched(const Link& link, const Layout& layout, const Brought& brought) {
  if (link.operation().verb != Verb::kRead) return {};
  return compare(link, layout.target, brought);
}

}  // namespace railgauge::verbs

// What one process offers to RDMA, in a page that its peers on this host can map: registered
// regions and queue pairs. It lives in a memfd that peers find in /proc/PID/fd, so that it vanishes
// with its process, however that ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace railgauge::fake {

// Keys and queue pair numbers carry the process: pid * kSlots + slot.
inline constexpr std::uint32_t kSlots = 256;
inline pid_t pid_of(std::uint32_t key) { return static_cast<pid_t>(key / kSlots); }
inline std::uint32_t slot_of(std::uint32_t key) { return key % kSlots; }

struct RegionSlot {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> access{0};
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> length{0};
};

struct QueuePairSlot {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> state{0};  // ibv_qp_state
  std::atomic<std::uint32_t> destination{0};
};

struct Table {
  std::array<RegionSlot, kSlots> regions;
  std::array<QueuePairSlot, kSlots> queue_pairs;
};

// This process's own table, made at the first call (again after a fork); nullptr with errno.
Table* own_table();

// The table of `pid`, or nullptr when no such process offers one.
std::shared_ptr<Table> table_of(pid_t pid);

// Takes a free slot and returns its key, or 0 when all are taken. Slots are given out in turn, so
// that a key is not soon used again.
template <class Slot>
std::uint32_t take_slot(std::array<Slot, kSlots>& slots, std::atomic<std::uint32_t>& turn,
                        pid_t pid) {
  for (std::uint32_t tries = 0; tries < kSlots; ++tries) {
    const std::uint32_t slot = turn++ % kSlots;
    std::uint32_t free = 0;
    if (slots[slot].in_use.compare_exchange_strong(free, 1))
      return static_cast<std::uint32_t>(pid) * kSlots + slot;
  }
  return 0;
}

enum class Copied { kDone, kPeerGone, kFault };

// Copies into the memory of `pid`, the last byte last and not before the others.
Copied copy_to(pid_t pid, std::uint64_t remote_address, const void* bytes, std::size_t count);

}  // namespace railgauge::fake

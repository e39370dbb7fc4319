// One process's RDMA objects, in memory that its peers on this host can map: registered regions,
// queue pairs and their receives. A memfd holds it; peers find it in /proc/PID/fd, so it vanishes
// with its process, however that ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace railgauge::fake {

// Keys and queue pair numbers carry the process: pid * kSlots + slot. (Process ids end at 2^22.)
inline constexpr std::uint32_t kSlots = 1024;
inline constexpr std::uint32_t kInboxDepth = 1024;  // receives that wait or were not polled
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
  std::atomic<std::uint32_t> type{0};  // ibv_qp_type
  std::atomic<std::uint32_t> qkey{0};
  std::atomic<std::uint32_t> inbox{0};  // key of its receives: its own or those it shares
};

struct PostedReceive {
  std::uint64_t wr_id = 0;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t is_valid = 0;  // its key covered it when it was posted
};

struct Arrival {
  std::uint64_t wr_id = 0;
  std::uint32_t bytes = 0;
  std::uint32_t immediate = 0;
  std::uint32_t opcode = 0;  // ibv_wc_opcode
  std::uint32_t status = 0;  // ibv_wc_status
  std::uint32_t flags = 0;
  std::uint32_t queue_pair = 0;
};

// A receive queue as two rings. The owner posts and polls, one process sends; each side's calls are
// serialised, so that each counter has one writer. Counters only grow.
struct Inbox {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> posted{0};   // by the owner
  std::atomic<std::uint32_t> arrived{0};  // by the sender: receives taken, arrivals reported
  std::atomic<std::uint32_t> polled{0};   // by the owner
  std::array<PostedReceive, kInboxDepth> receives;
  std::array<Arrival, kInboxDepth> arrivals;
};

// All zero at first, as a memfd is: nobody constructs it, so only what is used takes memory.
struct Table {
  std::array<RegionSlot, kSlots> regions;
  std::array<QueuePairSlot, kSlots> queue_pairs;
  std::array<Inbox, kSlots> inboxes;
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

// Copies into the memory of `pid`, the last byte last and not before the others. Memory of a real
// GPU is reached in this process only.
Copied copy_to(pid_t pid, std::uint64_t remote_address, const void* bytes, std::size_t count);
// Copies out of it.
Copied copy_from(pid_t pid, std::uint64_t remote_address, void* bytes, std::size_t count);

}  // namespace railgauge::fake

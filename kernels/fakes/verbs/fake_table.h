// One process's RDMA objects in memory that peers on this host can map: registered regions, queue
// pairs and their receives. A memfd holds them; peers find it in /proc/PID/fd, so it vanishes with
// its process, however that ends.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace railgauge::fake {

// Keys and queue pair numbers contain the process: pid * kSlots + slot. (Process ids end at 2^22.)
inline constexpr std::uint32_t kSlots = 1024;
inline constexpr std::uint32_t kInboxDepth = 1024;  // receives that wait or were not polled
inline pid_t pid_of(std::uint32_t key) { return static_cast<pid_t>(key / kSlots); }
inline std::uint32_t slot_of(std::uint32_t key) { return key % kSlots; }

struct RegionSlot {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> access{0};
  std::atomic<std::uint64_t> address{0};
  std::atomic<std::uint64_t> length{0};
  std::atomic<std::uint32_t> loses_data{0};  // the adapter reaches other memory by it
};

struct QueuePairSlot {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> state{0};  // ibv_qp_state
  std::atomic<std::uint32_t> destination{0};
  std::atomic<std::uint32_t> type{0};  // ibv_qp_type, or a provider's own
  std::atomic<std::uint32_t> qkey{0};
  std::atomic<std::uint64_t> access_key{0};  // of a target of DC
  std::atomic<std::uint32_t> inbox{0};       // key of its receives: its own or shared ones
};

struct PostedReceive {
  std::uint64_t wr_id = 0;
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
  std::uint32_t is_valid = 0;    // its key covered the memory at the post
  std::uint32_t loses_data = 0;  // as its region
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

// A receive queue as two rings. The owner posts and polls, one process sends; each side serialises
// its calls, so each counter has one writer. Counters only grow.
struct Inbox {
  std::atomic<std::uint32_t> in_use{0};
  std::atomic<std::uint32_t> posted{0};   // by the owner
  std::atomic<std::uint32_t> arrived{0};  // by the sender: receives taken, arrivals reported
  std::atomic<std::uint32_t> polled{0};   // by the owner
  std::array<PostedReceive, kInboxDepth> receives;
  std::array<Arrival, kInboxDepth> arrivals;
};

// All zero at first, like a memfd: never constructed, so only used parts take memory.
struct Table {
  std::array<RegionSlot, kSlots> regions;
  std::array<QueuePairSlot, kSlots> queue_pairs;
  std::array<Inbox, kSlots> inboxes;
};

// Returns this process's own table, made at the first call (again after a fork); nullptr with
// errno.
Table* own_table();

// Returns the table of `pid`, or nullptr when no such process offers one.
std::shared_ptr<Table> table_of(pid_t pid);

// Takes a free slot and returns its key, or 0 when all are taken. Takes slots in turn, so that a
// key is not reused soon.
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

// Copies into the memory of `pid`, the last byte after all others. A real GPU's memory is reachable
// only in this process.
Copied copy_to(pid_t pid, std::uint64_t remote_address, const void* bytes, std::size_t count);
// Copies out of the memory of `pid`.
Copied copy_from(pid_t pid, std::uint64_t remote_address, void* bytes, std::size_t count);

}  // namespace railgauge::fake

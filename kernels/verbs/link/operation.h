// A kernel's operation on the wire, as plain facts for the shared code.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string_view>

namespace railgauge::verbs {

enum class Verb : std::uint8_t { kWrite, kWriteImm, kRead, kSend, kFetchAdd, kCompareSwap };

// One row of the table of operations.
struct Operation {
  Verb verb = Verb::kWrite;
  // Name in messages: "write".
  std::string_view words;
  // "to" or "from", written before the other rank in messages.
  std::string_view way;
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  // Remote access that the target grants to the initiator.
  int target_access = 0;
  // Each message uses up a receive of the target's.
  bool takes_receive = false;
  // Data comes back: never inline, and limited by the outstanding reads of both devices.
  bool fetches = false;

  [[nodiscard]] bool is_atomic() const {
    return verb == Verb::kFetchAdd || verb == Verb::kCompareSwap;
  }
  // Reports whether the request names memory of the target.
  [[nodiscard]] bool is_aimed() const { return verb != Verb::kSend; }
  // Reports whether a latency may register its memory for relaxed ordering, as perftest's does: a
  // completion announces the data. A write is waited for in memory, with immediate data or without
  // in perftest, which is strict for both.
  [[nodiscard]] bool may_relax_latency() const {
    return verb == Verb::kSend || verb == Verb::kRead;
  }
};

// Returns the row of `verb`. Pure.
const Operation& operation_of(Verb verb);

// The immediate data of sends that carry some, as the completion of their receive shows it.
inline constexpr std::uint32_t kImmediate = 0x5261696c;

inline constexpr std::size_t kAtomicBytes = sizeof(std::uint64_t);
inline constexpr std::size_t kGrhBytes = 40;  // in front of a datagram's data

}  // namespace railgauge::verbs

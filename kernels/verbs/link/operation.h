// A kernel's operation on the wire, as plain facts that the shared parts read.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string_view>

namespace railgauge::verbs {

enum class Verb : std::uint8_t { kWrite, kWriteImm, kRead, kSend, kFetchAdd, kCompareSwap };

struct Operation {
  Verb verb = Verb::kWrite;
  std::string_view words;  // for messages: "write"
  std::string_view way;    // "to" or "from" the other rank
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  int target_access = 0;       // what the target grants to the initiator
  bool takes_receive = false;  // uses up a receive of the target's
  bool fetches = false;        // something comes back: never inline, bound by outstanding reads

  [[nodiscard]] bool is_atomic() const {
    return verb == Verb::kFetchAdd || verb == Verb::kCompareSwap;
  }
  // Whether the request names memory of the target's.
  [[nodiscard]] bool is_aimed() const { return verb != Verb::kSend; }
};

const Operation& operation_of(Verb verb);

inline constexpr std::size_t kAtomicBytes = sizeof(std::uint64_t);
inline constexpr std::size_t kGrhBytes = 40;  // in front of what a datagram brings

}  // namespace railgauge::verbs

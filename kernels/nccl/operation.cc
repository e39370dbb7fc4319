// Grouped sends and receives, for releases of NCCL without a call of their own for an operation.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Reports whether a call failed; a call that continues in the background has not.
bool bad(nc::Return returned) { return returned != nc::kSuccess && returned != nc::kInProgress; }

// Queues this rank's part; stops at the first error. Offsets are shares in rank order.
nc::Return queue_parts(const Nccl& nccl, const Call& call, const Exchange& parts) {
  const Share& share = call.share;
  const std::uint64_t bytes = share.count * call.element_bytes;
  const auto* send = static_cast<const char*>(call.send);
  auto* receive = static_cast<char*>(call.receive);
  for (std::uint32_t peer = 0; peer < share.ranks; ++peer) {
    const int number = static_cast<int>(peer);
    if (parts.to_all || parts.to_one == number) {
      const nc::Return returned = nccl.send(send + (parts.to_all ? peer * bytes : 0), share.count,
                                            call.type, number, call.comm, call.stream);
      if (bad(returned)) return returned;
    }
    if (parts.from_all || parts.from_one == number) {
      const nc::Return returned = nccl.recv(receive + (parts.from_all ? peer * bytes : 0),
                                            share.count, call.type, number, call.comm, call.stream);
      if (bad(returned)) return returned;
    }
  }
  return nc::kSuccess;
}

}  // namespace

// `first` is 0: each share is the beginning of its rank's input.
std::vector<Segment> shares_of_all(const Share& share) {
  std::vector<Segment> segments;
  for (std::uint32_t rank = 0; rank < share.ranks; ++rank)
    segments.push_back(
        {.offset = rank * share.count, .count = share.count, .source = static_cast<int>(rank)});
  return segments;
}

// ncclGroupStart and ncclGroupEnd make the sends and receives one operation, without which two
// ranks that both send first would wait for each other.
nc::Return exchange(const Nccl& nccl, const Call& call, const Exchange& parts) {
  if (const nc::Return returned = nccl.group_start(); returned != nc::kSuccess) return returned;
  const nc::Return queued = queue_parts(nccl, call, parts);
  const nc::Return ended = nccl.group_end();  // also after an error: the group must not stay open
  return bad(queued) ? queued : ended;
}

}  // namespace railgauge::nccl

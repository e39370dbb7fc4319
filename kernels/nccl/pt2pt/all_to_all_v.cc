// All-to-all with unequal parts, as nccl-tests' alltoallv_perf has it. The algorithm bandwidth is
// that of the rank that sends or receives most.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

bool failed(nc::Return returned) { return returned != nc::kSuccess && returned != nc::kInProgress; }

std::uint64_t sent_by(const Share& share) { return share.traffic->sent(share.rank, share.count); }
std::uint64_t received_by(const Share& share) {
  return share.traffic->received(share.rank, share.count);
}
// Without its part to itself, which crosses no link.
std::uint64_t least_of_rank_0(const Share& share) {
  const std::uint64_t own = share.traffic->part(0, 0, share.count);
  return std::max(share.traffic->sent(0, share.count), share.traffic->received(0, share.count)) -
         own;
}

// The parts that each source sends to this rank, in rank order. In a source's buffer the parts of
// the ranks before this one come first.
std::vector<Segment> parts_for(const Share& share) {
  std::vector<Segment> segments;
  std::uint64_t offset = 0;
  for (std::uint32_t source = 0; source < share.ranks; ++source) {
    std::uint64_t first = 0;
    for (std::uint32_t to = 0; to < share.rank; ++to)
      first += share.traffic->part(source, to, share.count);
    const std::uint64_t count = share.traffic->part(source, share.rank, share.count);
    segments.push_back(
        {.offset = offset, .count = count, .source = static_cast<int>(source), .first = first});
    offset += count;
  }
  return segments;
}

// Queues the sends and receives that are not empty; stops at the first error.
nc::Return queue_parts(const Nccl& nccl, const Call& call) {
  const Share& share = call.share;
  const auto* send = static_cast<const char*>(call.send);
  auto* receive = static_cast<char*>(call.receive);
  for (std::uint32_t peer = 0; peer < share.ranks; ++peer) {
    const int number = static_cast<int>(peer);
    if (const std::uint64_t count = share.traffic->part(share.rank, peer, share.count); count > 0) {
      const nc::Return returned = nccl.send(send, count, call.type, number, call.comm, call.stream);
      if (failed(returned)) return returned;
      send += count * call.element_bytes;
    }
    if (const std::uint64_t count = share.traffic->part(peer, share.rank, share.count); count > 0) {
      const nc::Return returned =
          nccl.recv(receive, count, call.type, number, call.comm, call.stream);
      if (failed(returned)) return returned;
      receive += count * call.element_bytes;
    }
  }
  return nc::kSuccess;
}

constexpr Operation kAllToAllV{
    .name = "nccl.all_to_all_v",
    .summary = "NCCL all-to-all with unequal parts: by distance of the ranks, or by a matrix",
    .has_traffic = true,
    .moved_count = [](const Share& share) { return share.traffic->most(share.count); },
    .least_count = least_of_rank_0,
    .bus_factor = factor_share,
    .send_count = sent_by,
    .receive_count = received_by,
    .result = parts_for,
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          if (const nc::Return opened = nccl.group_start(); opened != nc::kSuccess) return opened;
          const nc::Return queued = queue_parts(nccl, call);
          const nc::Return ended = nccl.group_end();  // also after an error
          return failed(queued) ? queued : ended;
        }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclAllToAllV{nccl::kRowOf<nccl::kAllToAllV>};
}  // namespace railgauge

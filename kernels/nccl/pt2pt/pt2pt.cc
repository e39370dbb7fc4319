// Sends and receives of NCCL, as a ring and in pairs. Bytes count in one direction.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// -1: the last of an odd number of ranks has no partner and is idle. A single rank sends to itself.
int partner(const Share& share) {
  if (share.ranks == 1) return 0;
  const std::uint32_t other = share.rank ^ 1U;
  return other < share.ranks ? static_cast<int>(other) : -1;
}
std::uint64_t share_of_a_pair(const Share& share) { return partner(share) < 0 ? 0 : share.count; }

// Ranks 0 and 1, 2 and 3 ... send to each other at once. Not in place: a rank receives while it
// sends.
constexpr Operation kPairwise{
    .name = "nccl.pairwise",
    .summary = "NCCL send and receive in pairs: ranks 0 and 1, 2 and 3, both ways",
    .send_count = share_of_a_pair,
    .receive_count = share_of_a_pair,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share_of_a_pair(share), .source = partner(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          const int other = partner(call.share);
          return exchange(nccl, call, {.to_one = other, .from_one = other});
        }};

// The neighbours of the ring. A single rank is its own.
int next(const Share& share) { return static_cast<int>((share.rank + 1) % share.ranks); }
int before(const Share& share) {
  return static_cast<int>((share.rank + share.ranks - 1) % share.ranks);
}

// Every rank sends to the next and receives from the one before, at once.
constexpr Operation kSendRecv{
    .name = "nccl.send_recv",
    .summary = "NCCL send and receive in a ring: to the next rank, from the one before",
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .source = before(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return exchange(nccl, call, {.to_one = next(call.share), .from_one = before(call.share)});
        }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclPairwise{nccl::kRowOf<nccl::kPairwise>};
extern const KernelRow kNcclSendRecv{nccl::kRowOf<nccl::kSendRecv>};
}  // namespace railgauge

// Pairs: ranks 0 and 1, 2 and 3 ... send to each other at once; a rank without a partner is idle,
// and a single one sends to itself. Bytes count in one direction.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// -1: the last of an odd number of ranks has no partner.
int partner(const Share& share) {
  if (share.ranks == 1) return 0;
  const std::uint32_t other = share.rank ^ 1U;
  return other < share.ranks ? static_cast<int>(other) : -1;
}
std::uint64_t share_of_a_pair(const Share& share) { return partner(share) < 0 ? 0 : share.count; }

// Not in place: a rank receives while it sends.
constexpr Operation kOperation{
    .name = "nccl.pairwise",
    .summary = "NCCL send and receive in pairs: ranks 0 and 1, 2 and 3, both ways",
    .bus_factor = factor_one,
    .send_count = share_of_a_pair,
    .receive_count = share_of_a_pair,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share_of_a_pair(share), .source = partner(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          const int other = partner(call.share);
          return exchange(nccl, call, {.to_one = other, .from_one = other});
        },
    .implementation = [](const Nccl&) { return kGrouped; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclPairwise;
const KernelRow kNcclPairwise{[] { return nccl::info_of(nccl::kOperation); },
                              [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

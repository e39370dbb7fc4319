// The root has the shares of all ranks, in rank order.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// ncclGather is there from some release on; before, its root receives from all in one group.
nc::Return gather(const Nccl& nccl, const Call& call) {
  const int root = static_cast<int>(call.share.root);
  if (nccl.gather != nullptr)
    return nccl.gather(call.send, call.receive, call.share.count, call.type, root, call.comm,
                       call.stream);
  return exchange(nccl, call, {.from_all = call.share.rank == call.share.root, .to_one = root});
}

constexpr Operation kOperation{
    .name = "nccl.gather",
    .summary = "NCCL gather: the root gets every rank's share",
    .rooted = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = one_share,
    .receive_count = all_shares_of_root,
    .own_offset = at_beginning,
    .result =
        [](const Share& share) {
          return share.rank == share.root ? shares_of_all(share) : std::vector<Segment>{};
        },
    .enqueue = gather,
    .implementation =
        [](const Nccl& nccl) { return nccl.gather != nullptr ? "ncclGather" : kGrouped; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclGather;
const KernelRow kNcclGather{[] { return nccl::info_of(nccl::kOperation); },
                            [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

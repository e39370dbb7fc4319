// Every rank has its share of the root's buffer.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// ncclScatter is there from some release on; before, its root sends to all in one group.
nc::Return scatter(const Nccl& nccl, const Call& call) {
  const int root = static_cast<int>(call.share.root);
  if (nccl.scatter != nullptr)
    return nccl.scatter(call.send, call.receive, call.share.count, call.type, root, call.comm,
                        call.stream);
  return exchange(nccl, call, {.to_all = call.share.rank == call.share.root, .from_one = root});
}

constexpr Operation kOperation{
    .name = "nccl.scatter",
    .summary = "NCCL scatter: each rank gets its share of the root's buffer",
    .rooted = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares_of_root,
    .receive_count = one_share,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count,
               .source = static_cast<int>(share.root),
               .first = own_share(share)}};
    },
    .enqueue = scatter,
    .implementation =
        [](const Nccl& nccl) { return nccl.scatter != nullptr ? "ncclScatter" : kGrouped; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclScatter;
const KernelRow kNcclScatter{[] { return nccl::info_of(nccl::kOperation); },
                             [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

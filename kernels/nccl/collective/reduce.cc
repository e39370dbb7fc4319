// The root has the reduction of all ranks' buffers.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Other ranks have no receive buffer: NCCL ignores theirs.
constexpr Operation kOperation{
    .name = "nccl.reduce",
    .summary = "NCCL reduce: the root gets the reduction of all",
    .log_name = "Reduce",
    .reduces = true,
    .rooted = true,
    .in_place = true,
    .bus_factor = factor_one,
    .send_count = one_share,
    .receive_count = one_share_of_root,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = one_share_of_root(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return nccl.reduce(call.send, call.receive, call.share.count, call.type, call.reduction,
                             static_cast<int>(call.share.root), call.comm, call.stream);
        },
    .implementation = [](const Nccl&) { return "ncclReduce"; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclReduce;
const KernelRow kNcclReduce{[] { return nccl::info_of(nccl::kOperation); },
                            [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

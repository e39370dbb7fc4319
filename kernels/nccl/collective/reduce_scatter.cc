// Every rank has its share of the reduction of all ranks' buffers.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// In place the result is at this rank's own share of the send buffer.
constexpr Operation kOperation{
    .name = "nccl.reduce_scatter",
    .summary = "NCCL reduce-scatter: each rank gets its share of the reduction of all",
    .log_name = "ReduceScatter",
    .reduces = true,
    .in_place = true,
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares,
    .receive_count = one_share,
    .own_offset = own_share,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .first = own_share(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return nccl.reduce_scatter(call.send, call.receive, call.share.count, call.type,
                                     call.reduction, call.comm, call.stream);
        },
    .implementation = [](const Nccl&) { return "ncclReduceScatter"; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclReduceScatter;
const KernelRow kNcclReduceScatter{[] { return nccl::info_of(nccl::kOperation); },
                                   [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

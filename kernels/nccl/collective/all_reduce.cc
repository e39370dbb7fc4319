// Every rank has the reduction of all ranks' buffers. Busbw: in a ring each byte is sent on
// 2(n - 1)/n times, reduce-scatter and all-gather.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

constexpr Operation kOperation{
    .name = "nccl.all_reduce",
    .summary = "NCCL all-reduce: every rank gets the reduction of all",
    .log_name = "AllReduce",
    .reduces = true,
    .in_place = true,
    .bus_factor = factor_both_ways,
    .send_count = one_share,
    .receive_count = one_share,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> { return {{.count = share.count}}; },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return nccl.all_reduce(call.send, call.receive, call.share.count, call.type,
                                 call.reduction, call.comm, call.stream);
        },
    .implementation = [](const Nccl&) { return "ncclAllReduce"; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclAllReduce;
const KernelRow kNcclAllReduce{[] { return nccl::info_of(nccl::kOperation); },
                               [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

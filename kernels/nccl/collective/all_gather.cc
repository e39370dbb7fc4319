// Every rank has the shares of all ranks, in rank order.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Busbw: each byte but the own share passes every rank once.
constexpr Operation kOperation{.name = "nccl.all_gather",
                               .summary = "NCCL all-gather: every rank gets every rank's share",
                               .log_name = "AllGather",
                               .in_place = true,
                               .shared_out = true,
                               .bus_factor = factor_share,
                               .send_count = one_share,
                               .receive_count = all_shares,
                               .own_offset = own_share,
                               .result = shares_of_all,
                               .enqueue =
                                   [](const Nccl& nccl, const Call& call) {
                                     return nccl.all_gather(call.send, call.receive,
                                                            call.share.count, call.type, call.comm,
                                                            call.stream);
                                   },
                               .implementation = [](const Nccl&) { return "ncclAllGather"; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclAllGather;
const KernelRow kNcclAllGather{[] { return nccl::info_of(nccl::kOperation); },
                               [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

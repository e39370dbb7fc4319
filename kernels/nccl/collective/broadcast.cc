// Every rank has the root's buffer.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// Busbw is algbw: each byte passes every link of the ring once.
constexpr Operation kOperation{
    .name = "nccl.broadcast",
    .summary = "NCCL broadcast: every rank gets the root's buffer",
    .log_name = "Broadcast",
    .rooted = true,
    .in_place = true,
    .bus_factor = factor_one,
    .send_count = one_share_of_root,
    .receive_count = one_share,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .source = static_cast<int>(share.root)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return nccl.broadcast(call.send, call.receive, call.share.count, call.type,
                                static_cast<int>(call.share.root), call.comm, call.stream);
        },
    .implementation = [](const Nccl&) { return "ncclBroadcast"; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclBroadcast;
const KernelRow kNcclBroadcast{[] { return nccl::info_of(nccl::kOperation); },
                               [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

// Every rank sends another share to each rank. Not in place: no release of NCCL has that.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// ncclAlltoAll is there from some release on; before, each rank sends to and receives from all.
nc::Return all_to_all(const Nccl& nccl, const Call& call) {
  if (nccl.all_to_all != nullptr)
    return nccl.all_to_all(call.send, call.receive, call.share.count, call.type, call.comm,
                           call.stream);
  return exchange(nccl, call, {.to_all = true, .from_all = true});
}

// This rank's share is at the same place of every sender's buffer.
std::vector<Segment> result(const Share& share) {
  std::vector<Segment> segments = shares_of_all(share);
  for (Segment& segment : segments) segment.first = own_share(share);
  return segments;
}

constexpr Operation kOperation{
    .name = "nccl.all_to_all",
    .summary = "NCCL all-to-all: every rank sends another share to each rank",
    .shared_out = true,
    .bus_factor = factor_share,
    .send_count = all_shares,
    .receive_count = all_shares,
    .own_offset = at_beginning,
    .result = result,
    .enqueue = all_to_all,
    .implementation = [](const Nccl& nccl) {
      return nccl.all_to_all != nullptr ? "ncclAlltoAll" : kGrouped;
    }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclAllToAll;
const KernelRow kNcclAllToAll{[] { return nccl::info_of(nccl::kOperation); },
                              [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

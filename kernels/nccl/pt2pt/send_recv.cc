// A ring: every rank sends to the next and receives from the one before, at once.
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {
namespace {

// A single rank is its own neighbour.
int next(const Share& share) { return static_cast<int>((share.rank + 1) % share.ranks); }
int before(const Share& share) {
  return static_cast<int>((share.rank + share.ranks - 1) % share.ranks);
}

// Each rank sends one share and receives one; bytes count once.
constexpr Operation kOperation{
    .name = "nccl.send_recv",
    .summary = "NCCL send and receive in a ring: to the next rank, from the one before",
    .bus_factor = factor_one,
    .send_count = one_share,
    .receive_count = one_share,
    .own_offset = at_beginning,
    .result = [](const Share& share) -> std::vector<Segment> {
      return {{.count = share.count, .source = before(share)}};
    },
    .enqueue =
        [](const Nccl& nccl, const Call& call) {
          return exchange(nccl, call, {.to_one = next(call.share), .from_one = before(call.share)});
        },
    .implementation = [](const Nccl&) { return kGrouped; }};

}  // namespace
}  // namespace railgauge::nccl

namespace railgauge {
extern const KernelRow kNcclSendRecv;
const KernelRow kNcclSendRecv{[] { return nccl::info_of(nccl::kOperation); },
                              [] { return nccl::make_kernel(nccl::kOperation); }};
}  // namespace railgauge

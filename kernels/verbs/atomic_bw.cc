// Rate of 8-byte atomics, measured as write_bw measures. Each queue pair has words of its own at
// the target, a cache line apart; their sum in the end is the number of operations.
#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return bandwidth_info(
      {.name = "verbs.atomic_bw",
       .revision = 2,
       .summary = "RDMA fetch-and-add or compare-and-swap of 8 bytes: rate and bandwidth",
       .verb = Verb::kFetchAdd,
       .plural = "atomics",
       .connection = {.transports = {"RC"}, .inline_bytes = ""}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsAtomicBw{verbs::info,
                                      [] { return verbs::make_bandwidth(verbs::Verb::kFetchAdd); }};
}  // namespace railgauge

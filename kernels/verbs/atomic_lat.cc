// Latency of 8-byte atomics: one at a time on one word of the target's, from post to completion
// (completion_latency.cc). The word's last value proves each of them.
#include "kernels/verbs/latency.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return latency_info(
      {.name = "verbs.atomic_lat",
       .revision = 2,
       .summary = "RDMA fetch-and-add or compare-and-swap of 8 bytes: latency, post to completion",
       .verb = Verb::kFetchAdd,
       .plural = "atomics",
       .connection = {.transports = {"RC"}, .inline_bytes = ""}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsAtomicLat{
    verbs::info, [] { return verbs::make_completion_latency(verbs::Verb::kFetchAdd); }};
}  // namespace railgauge

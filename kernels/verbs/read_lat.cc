// RDMA READ latency: one read at a time, from post to completion (completion_latency.cc). Its data
// is there when it completes, so this is a full round trip and no half of one.
#include "kernels/verbs/latency.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return latency_info(
      {.name = "verbs.read_lat",
       .revision = 2,
       .summary = "RDMA READ latency between two ports, a full round trip, from post to completion",
       .verb = Verb::kRead,
       .plural = "reads",
       .connection = {.transports = {"RC"}, .inline_bytes = ""}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsReadLat{
    verbs::info, [] { return verbs::make_completion_latency(verbs::Verb::kRead); }};
}  // namespace railgauge

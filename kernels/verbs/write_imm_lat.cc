// Latency of RDMA WRITE with immediate data: a ping-pong in which the completion of a receive
// announces each message (ping_pong.cc), so the target need not know where its last byte is.
#include "kernels/verbs/latency.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return latency_info(
      {.name = "verbs.write_imm_lat",
       .revision = 2,
       .summary = "RDMA WRITE with immediate data: latency, half a round trip, by ping-pong",
       .verb = Verb::kWriteImm,
       .plural = "writes",
       .connection = {.transports = {"RC", "UC"}, .inline_bytes = "220"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteImmLat{
    verbs::info, [] { return verbs::make_ping_pong(verbs::Verb::kWriteImm); }};
}  // namespace railgauge

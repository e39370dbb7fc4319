// RDMA WRITE latency: a ping-pong of writes, each waited for in memory (ping_pong.cc).
#include "kernels/verbs/latency.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return latency_info(
      {.name = "verbs.write_lat",
       .revision = 3,
       .summary = "RDMA WRITE latency between two ports, half a round trip, by ping-pong",
       .verb = Verb::kWrite,
       .plural = "writes",
       .connection = {.transports = {"RC", "UC"}, .inline_bytes = "220"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteLat{verbs::info,
                                      [] { return verbs::make_ping_pong(verbs::Verb::kWrite); }};
}  // namespace railgauge

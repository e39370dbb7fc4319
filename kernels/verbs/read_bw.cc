// RDMA READ bandwidth, measured as write_bw measures; the bytes flow towards the initiator. As many
// reads are outstanding on the wire as both devices allow (the fact outstanding_reads), however
// deep the queue.
#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return bandwidth_info({.name = "verbs.read_bw",
                         .revision = 2,
                         .summary = "RDMA READ bandwidth and message rate between two ports",
                         .verb = Verb::kRead,
                         .plural = "reads",
                         .connection = {.transports = {"RC"}, .inline_bytes = ""}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsReadBw{verbs::info,
                                    [] { return verbs::make_bandwidth(verbs::Verb::kRead); }};
}  // namespace railgauge

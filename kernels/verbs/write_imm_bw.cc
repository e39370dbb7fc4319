// Bandwidth of RDMA WRITE with immediate data, measured as write_bw measures; each message also
// uses up a receive at the target, which gives it out again.
#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return bandwidth_info({.name = "verbs.write_imm_bw",
                         .revision = 2,
                         .summary = "RDMA WRITE with immediate data: bandwidth and message rate",
                         .verb = Verb::kWriteImm,
                         .plural = "writes",
                         .connection = {.transports = {"RC", "UC"}, .inline_bytes = "0"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteImmBw{
    verbs::info, [] { return verbs::make_bandwidth(verbs::Verb::kWriteImm); }};
}  // namespace railgauge

// RDMA WRITE bandwidth. The initiator keeps `depth` writes in flight on each queue pair and asks
// for a completion on every `signal_every`-th; the target's CPU stays idle, so it cannot bend the
// number. Bytes count once, at the initiator, when their completion is polled.
//
// A sample is the bandwidth of a window: the writes retired between two polls that found
// completions, at least `window_writes` of them (a fact of the point, chosen so that a window lasts
// about a millisecond). The estimate is the median window; `mean` is all bytes of the kept windows
// over all their time, which is what perftest calls average. With `iterations` the first window
// begins before the first post and the last ends at the last completion, so that `mean` has
// perftest's meaning exactly. All bandwidth kernels measure so: bandwidth.cc.
#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return bandwidth_info({.name = "verbs.write_bw",
                         .revision = 3,
                         .summary = "RDMA WRITE bandwidth and message rate between two ports",
                         .verb = Verb::kWrite,
                         .plural = "writes",
                         .connection = {.transports = {"RC", "UC"}, .inline_bytes = "0"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsWriteBw{verbs::info,
                                     [] { return verbs::make_bandwidth(verbs::Verb::kWrite); }};
}  // namespace railgauge

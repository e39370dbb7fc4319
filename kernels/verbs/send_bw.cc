// SEND bandwidth, measured as write_bw measures at the initiator. The target takes each message
// into a receive and gives that out again; on RC the adapters wait for it, on UC and UD what finds
// none is lost, and the figure counts the share that arrived.
#include "kernels/verbs/bandwidth.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return bandwidth_info({.name = "verbs.send_bw",
                         .revision = 2,
                         .summary = "SEND bandwidth and message rate between two ports",
                         .verb = Verb::kSend,
                         .plural = "sends",
                         .connection = {.transports = {"RC", "UC", "UD"}, .inline_bytes = "0"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsSendBw{verbs::info,
                                    [] { return verbs::make_bandwidth(verbs::Verb::kSend); }};
}  // namespace railgauge

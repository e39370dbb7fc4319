// SEND latency: a ping-pong of messages that the target takes into receives (ping_pong.cc).
#include "kernels/verbs/latency.h"

namespace railgauge::verbs {
namespace {

KernelInfo info() {
  return latency_info({.name = "verbs.send_lat",
                       .revision = 2,
                       .summary = "SEND latency between two ports, half a round trip, by ping-pong",
                       .verb = Verb::kSend,
                       .plural = "sends",
                       .connection = {.transports = {"RC", "UC", "UD"}, .inline_bytes = "236"}});
}

}  // namespace
}  // namespace railgauge::verbs

namespace railgauge {
extern const KernelRow kVerbsSendLat{verbs::info,
                                     [] { return verbs::make_ping_pong(verbs::Verb::kSend); }};
}  // namespace railgauge

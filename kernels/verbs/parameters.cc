#include "kernels/verbs/parameters.h"

namespace railgauge::verbs {
namespace {

constexpr double kMillisecondNs = 1e6;
constexpr double kHourNs = 3600e9;

}  // namespace

void add_connection(InfoBuilder& builder, std::string default_inline_bytes) {
  constexpr double kMaxInlineBytes = 4096;
  builder
      .integer("gid_index",
               "GID table entry of this rank's port; -1 takes RoCE v2 with an IPv4 address on "
               "the port's netdev first, then v2 with a global IPv6 address, v2 link-local, v1",
               -1, -1, 255)
      .per_rank()
      .choice("mtu", "bytes", "RDMA path MTU; 0 takes the smaller one of the two ports' active MTU",
              {"0", "256", "512", "1024", "2048", "4096"})
      .identity()
      .bytes("inline_bytes",
             "messages up to this size are sent inline, as far as the device can; 0 sends none so",
             std::move(default_inline_bytes), kMaxInlineBytes)
      .identity()
      .integer("qp_timeout", "acknowledgement timeout, 4.096 us times 2 to this power", 14, 1, 31)
      .integer("retry_count", "transmissions tried again before the connection fails", 7, 0, 7)
      .duration("stall_timeout", "the task ends when nothing moves for this long", "10s",
                10 * kMillisecondNs, kHourNs);
}

void add_added_cost(InfoBuilder& builder, const std::string& summary) {
  builder.number("added_cost_fraction", summary, "0", 0, 1).identity();
}

}  // namespace railgauge::verbs

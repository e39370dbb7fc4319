#include "kernels/net/parameters.h"

namespace railgauge::net {

// Address and port are per rank and no part of a series' identity; buffer, class and congestion
// control change the figures and are.
void add_connection(InfoBuilder& builder) {
  constexpr double kMillisecondNs = 1e6;
  constexpr double kHourNs = 3600e9;
  constexpr double kMaxPort = 65535;
  constexpr double kMaxBufferBytes = 1U << 30U;
  builder
      .text("netdev",
            "network interface of this rank; empty takes that of the endpoint's RDMA port", "")
      .per_rank()
      .text("address",
            "address of this rank; empty takes the interface's: IPv4, then global IPv6, then "
            "link-local",
            "")
      .per_rank()
      .integer("port", "TCP port where this rank listens while the task lasts; 0 takes a free one",
               0, 0, kMaxPort)
      .per_rank()
      .bytes("socket_buffer", "send and receive buffer of each socket; 0 leaves it to the kernel",
             "0", kMaxBufferBytes)
      .identity()
      .integer("traffic_class", "traffic class of the packets: the DSCP times 4", 0, 0, 255)
      .identity()
      .text("congestion_control", "TCP's congestion control; empty takes the system's", "")
      .identity()
      .duration("stall_timeout", "the task ends when nothing moves for this long", "10s",
                10 * kMillisecondNs, kHourNs);
}

}  // namespace railgauge::net

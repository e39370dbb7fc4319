// The parameters that net kernels share, declared once.
#pragma once

#include "kernels/core/info_builder.h"

namespace railgauge::net {

// netdev, address, port, socket_buffer, traffic_class, congestion_control, stall_timeout.
void add_connection(InfoBuilder& builder);

}  // namespace railgauge::net

// What a port says of itself by the verbs and in no file: on InfiniBand the MTU that it agreed on
// with the subnet manager.
#pragma once

#include <string>

#include "kernels/core/base/probe.pb.h"

namespace railgauge::verbs {

// `endpoint` is "DEV:PORT". A port that cannot be opened, or is not up, is told with the reason.
PortProbe probe_port(const std::string& endpoint);

}  // namespace railgauge::verbs

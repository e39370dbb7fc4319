// Facts of a port that only the verbs report: on InfiniBand the MTU agreed with the subnet manager.
#pragma once

#include <string>

#include "kernels/core/base/probe.pb.h"

namespace railgauge::verbs {

// `endpoint` is "DEV:PORT". A port that cannot be opened, or is not up, is reported with the
// reason.
PortProbe probe_port(const std::string& endpoint);

}  // namespace railgauge::verbs

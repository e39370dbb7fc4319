// Facts of a port that only verbs report: on InfiniBand, the MTU agreed with the subnet manager.
#pragma once

#include <string>

#include "kernels/core/base/probe.pb.h"

namespace railgauge::verbs {

// Probes `endpoint`, "DEV:PORT". A port that is down or cannot be opened is reported with the
// reason.
PortProbe probe_port(const std::string& endpoint);

}  // namespace railgauge::verbs

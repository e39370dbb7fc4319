// A node's GPUs and NICs with their distances, from the facts of its agent. Pure.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// GPUs by number, then NIC devices on PCIe in the node's order. A NIC's rail is its position by PCI
// address among the node's NICs: NICs of one rail have the same position in every node. Unknown
// distances are missing.
TopologyReport topology_of(const api::NodeList& nodes);

}  // namespace railgauge::cli

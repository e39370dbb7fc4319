// A node's GPUs and NICs with their distances, from what its agent told. Pure.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// GPUs by number, then NIC devices on PCIe as the node tells them. A NIC's rail is its position by
// PCI address among the node's: NICs of one rail stand in the same place in every node. Distances
// that were not told are missing.
TopologyReport topology_of(const railgauge::api::NodeList& nodes);

}  // namespace railgauge::cli

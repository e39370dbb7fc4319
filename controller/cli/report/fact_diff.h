// Compares two sets of nodes: the facts and stack parts whose values differ. Pure.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// Facts whose known values are not the same in both sets, sorted by how well they separate the
// sets: the share of pairs across the sets that differ, less the share within each. A value that
// differs between all nodes alike (an address, a serial number) separates nothing and is left out,
// unless both sets are one node. "unknown" is no value: it is counted, and never the difference.
NodesDiff diff_nodes(const api::NodeList& a, const api::NodeList& b);

}  // namespace railgauge::cli

// The leaf switch of each node, for readers of stored figures, by the site's present topology.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/plan/topology/site.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

// Leaf by node name, without nodes of unknown leaf.
using LeafMap = std::map<std::string, std::string>;
using LeafSource = std::function<LeafMap(const std::vector<store::NodeRow>&)>;

// Reads the profile's topology file each time, since the fabric may be recabled while the
// controller runs. Empty if the profile names no source, or, with a warning, if its file cannot be
// read: figures without leaves are better than none.
LeafMap leaves_of(const plan::Site& site, const std::vector<store::NodeRow>& nodes);
// The names of nodes' facts that a topology of labels may be made of; of another source none.
std::vector<std::string> facts_of_leaves(const plan::TopologySource& topology);

}  // namespace railgauge

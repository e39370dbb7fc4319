// Which leaf each node hangs on, for whom reads stored figures: as the site's topology tells now.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/plan/topology/site.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

using LeafMap = std::map<std::string, std::string>;  // by node name; without those of no known leaf
using LeafSource = std::function<LeafMap(const std::vector<store::NodeRow>&)>;

// Reads the profile's topology file anew each time, since a fabric is recabled while the controller
// runs. Empty where the profile names none, or (with a warning in the log) where it cannot be read:
// figures without leaves are worth more than none.
LeafMap leaves_of(const plan::Site& site, const std::vector<store::NodeRow>& nodes);

}  // namespace railgauge

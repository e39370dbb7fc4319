// Series that fell behind what their peers did on the same nights. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "controller/findings/run/run_moved.h"

namespace railgauge {

// Adds those that became slow against their peers; of a node that fell behind all that was measured
// with it. `members` are peers of each other, those of `moved` are told already (ids of series).
void add_peers(const std::vector<const SeriesRuns*>& members, const std::set<std::int64_t>& moved,
               std::vector<Moved>& out);

}  // namespace railgauge

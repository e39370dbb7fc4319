// Whether a node that was found stands out among the nodes: hosts differ by more than single
// figures scatter, and a search that knows the scatter of figures alone would call the slowest of
// them bad. Pure.
#pragma once

#include "controller/localise/localise_search.h"

namespace railgauge::localise {

enum class Standing {
  kClear,     // beyond what the other nodes differ by
  kDoubtful,  // among them, but at the edge
  kUsual,     // one of them
};

// `cells`: leaves, trunks and spines that were found are taken out, nodes are not: what differs
// must speak. What is no node or port is clear.
Standing standing_of(const Cells& cells, const Found& found);

}  // namespace railgauge::localise

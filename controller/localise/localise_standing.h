// Whether a found node is an outlier among the nodes: hosts differ by more than single figures
// scatter, and a search that knows the scatter of figures alone would call the slowest of them bad.
// Pure.
#pragma once

#include "controller/localise/localise_search.h"

namespace railgauge::localise {

enum class Standing {
  kClear,     // beyond what the other nodes differ by
  kDoubtful,  // among them, but at the edge
  kUsual,     // one of them
};

// `cells`: found leaves, trunks and spines are subtracted, nodes are not: the differences must
// remain. An element that is no node or port is clear.
Standing standing_of(const Cells& cells, const Found& found);

}  // namespace railgauge::localise

// Which series a filter selects, as a statement over fixed places of values.
#pragma once

#include <string>

#include "controller/store/rows/rows.h"

namespace railgauge::store {

// ?2 kernel, ?3 metric, ?4 size, ?5 JSON list of nodes, ?8 endpoint ("DEV:PORT" or "gpuN", as named
// now or ever), ?9 rail. It has a clause for what the filter names only, and begins with the
// narrowest of them: series are hundreds of thousands, and no query may read them all for a few.
std::string series_choice(const ResultsFilter& filter);

}  // namespace railgauge::store

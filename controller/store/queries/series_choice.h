// The series that a filter selects, as a statement with fixed parameter numbers.
#pragma once

#include <string>

#include "controller/store/rows/rows.h"

namespace railgauge::store {

// ?2 kernel, ?3 metric, ?4 size, ?5 JSON list of nodes, ?8 endpoint ("DEV:PORT" or "gpuN", under
// its present or a former name), ?9 rail. The statement has a clause only for what the filter
// names, and begins with the narrowest one: there are hundreds of thousands of series, and no query
// may read them all for a few.
std::string series_choice(const ResultsFilter& filter);

}  // namespace railgauge::store

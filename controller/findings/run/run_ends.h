// When what a night found is over.
#pragma once

#include <string>
#include <vector>

#include "controller/findings/run/run_changes.h"
#include "controller/findings/run/run_growth.h"
#include "controller/store/store.h"

namespace railgauge {

SeriesById by_id_of(const std::vector<SeriesRuns>& all);

// Ends findings of the judge of runs whose series, as far as the run measured them, are all back.
// Nights measure a slice of them: of those that this one did not measure none may be as bad as it
// was in the newest run since, and half of all have to be back. `now`: unix seconds.
Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now);

}  // namespace railgauge

// What is found again of what is known: held against the levels that are known of its series, so
// that many small steps come to what they come to. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "controller/findings/run/run_changes.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

using SeriesById = std::map<std::int64_t, const SeriesRuns*>;

// Whether `event` is worse by the bound than what `known` says: by the levels of the series that
// both have, else by the losses. `delta`: the bound of their metric.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta);

// Where `known` stands open, its series' levels of before stay those of its beginning; where a
// person settled it, what was settled is what they are held against.
void hold_against(const store::FindingRow& known, const SeriesById& series, RunEvent& event);

}  // namespace railgauge

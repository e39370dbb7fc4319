// Decides whether a known finding got worse. Compares with the levels stored when it opened, so
// that slow growth is not missed. Pure.
#pragma once

#include "controller/findings/run_changes.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// Whether `event` is worse by the bound than what `known` says: by the levels of the series that
// both have, else by the losses. `delta`: the bound of their metric.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta);

// Sets the levels that `event` is compared with. For an open finding these are the levels before it
// began; for one that a person settled, the settled levels.
void set_reference_levels(const store::FindingRow& known, const SeriesById& series,
                          RunEvent& event);

}  // namespace railgauge

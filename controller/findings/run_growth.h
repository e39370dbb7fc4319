// Decides whether a known finding got worse. Compares with the levels stored when it opened, so
// that slow growth is not missed. Pure; thread safe.
#pragma once

#include "controller/findings/run_changes.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// Whether `event` is worse by the bound than `known` records: by the levels of the series that both
// have, else by their losses. `delta`: the practical bound of their metric, a fraction. `series`
// may lack some of the event's.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta);

// Sets the levels with which `event` is compared, and its loss. For an open finding these are the
// levels before it began; for one that a person settled, the settled levels; for a fixed one they
// stay.
void set_reference_levels(const store::FindingRow& known, const SeriesById& series,
                          RunEvent& event);

}  // namespace railgauge

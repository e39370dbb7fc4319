// The life of findings about parts: opened by the first run that shows one, confirmed by several
// nights or by the run's own retests. A part that is as expected again looks over and stays open: a
// proof (proof/proof_judge.h) or a person ends the finding.
#pragma once

#include <string>

#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

// Makes and stores the levels of the run's parts, and judges them with those of earlier runs of its
// suite. Opens, confirms and reopens findings, and says which look over. `now`: unix seconds. A run
// without matrices, or with fewer than kFewestNodesOfLevels nodes, changes nothing but by its
// retests. A run that is judged twice changes nothing the second time. kNotFound: no such run.
Status judge_parts_of_run(store::Store& store, const store::RunRow& run, double now,
                          const LeafSource& leaves);

}  // namespace railgauge

// The edge between the store and the pure judge: reads an upgrade's two sides, judges them, and
// keeps the verdict with what it found. Called on worker threads.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Judges by all that is there, stores verdict and finding, and returns the report. kNotFound: no
// such upgrade. `now`: unix seconds. `min_coverage`: share of the changed pairs that a pass needs.
Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    double min_coverage = 1);

// The stored report of a judged upgrade, else its present state with the promise of its before
// side. "" is the newest.
Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id);

// The smallest loss that the worst metric will call four times in five, with a note for each
// metric.
void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade);

}  // namespace railgauge

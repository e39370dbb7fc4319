// Judges an upgrade by the facts in the store, and stores the verdict and its findings. Called on
// worker threads.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Judges by all facts of the moment, stores verdict and findings, and returns the report.
// kNotFound: no such upgrade. `now`: unix seconds. `min_coverage`: the share of the changed pairs
// that a pass needs, 0 to 1.
Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    double min_coverage = 1);

// The stored report of a judged upgrade, else its present state with the promise of its before
// side. "" is the newest upgrade. kNotFound: no such upgrade.
Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id);

// Adds the smallest loss that the worst metric will show four times in five, with a note for each
// metric. Nodes must not drift by more than their runs scatter.
void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade);

}  // namespace railgauge

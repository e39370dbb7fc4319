// The edge between the store and the pure judge: reads an upgrade's two sides, judges them, and
// keeps the verdict with what it found. Called on worker threads.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"
#include "controller/upgrades/judge_sides.h"

namespace railgauge {

// Everything that a verdict by the row's nodes and runs rests on.
Result<Sides> sides_of(const store::Store& store, store::UpgradeRow upgrade);
Result<Sides> read_sides(const store::Store& store, const std::string& upgrade_id);

// Judges by all that is there, stores verdict and finding, and returns the report. kNotFound: no
// such upgrade. `now`: unix seconds. `min_coverage`: share of the changed pairs that a pass needs.
Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    double min_coverage = 1);

// As it was judged, else as it stands with what its before side promises. "" is the newest.
Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id);

}  // namespace railgauge

// Judges an upgrade by the facts in the store, and stores the verdict and its findings. Called on
// worker threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/api/judge.pb.h"
#include "controller/store/store.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Judges by all facts of the moment, stores verdict and findings, and returns the report. Facts
// that say what the stored verdict says change nothing: the stored report is returned. kNotFound:
// no such upgrade. `now`: unix seconds. `min_coverage`: the share of the changed pairs that a pass
// needs, above 0, at most 1; absent: that of the stored terms. Thread safe.
Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    std::optional<double> min_coverage = {});

// How far the after side of an upgrade is that has no verdict.
enum class AfterSide : std::uint8_t {
  kNone,       // not begun, or judged
  kMeasuring,  // a run of it has not ended
  kMeasured,   // it waits for its verdict
  kForgotten   // it has waited for longer than kWindowAgoSeconds
};
// `now`: unix seconds. Errors: those of the store.
Result<AfterSide> after_side_of(const store::Store& store, const store::UpgradeRow& upgrade,
                                double now);

// Judges as judge_and_keep() does by the stored terms, where the after side is kMeasured.
// Absent: it is not. Thread safe.
Result<std::optional<api::Upgrade>> judge_if_measured(store::Store& store,
                                                      const std::string& upgrade_id, double now);

// The stored report of a judged upgrade, else its present state with the promise of its before
// side. "" is the newest upgrade. kNotFound: no such upgrade.
Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id);

// Adds the smallest loss that the worst metric will show four times in five, with a note for each
// metric. Nodes must not drift by more than their runs scatter.
void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade);

}  // namespace railgauge

// A verdict as people and pipelines see it: what, where, how much, since when, why, what it was not
// and what to do. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/verdict.h"
#include "controller/api/judge.pb.h"
#include "controller/judge_sides.h"

namespace railgauge {

// Of an upgrade as it stands, not judged.
api::Upgrade summary_of(const store::UpgradeRow& row);

// Of a judged one. `since`: when the first of its nodes' stacks changed; 0: not known.
api::Upgrade report_of(const Sides& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since);

// What the before side alone promises: the smallest loss that the worst metric will call four times
// in five, with a note for each metric.
void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade);

}  // namespace railgauge

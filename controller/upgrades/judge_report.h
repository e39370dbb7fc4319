// A verdict as people and pipelines see it: what, where, how much, since when, why, what it was not
// and what to do. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/upgrades/judge_sides.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Of an upgrade as it stands, not judged.
api::Upgrade summary_of(const store::UpgradeRow& row);

// Of a judged one. `since`: when the first of its nodes' stacks changed; 0: not known.
api::Upgrade report_of(const Sides& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since);

}  // namespace railgauge

// Knees of size curves on both sides of an upgrade, as metrics of their own. Pure.
#pragma once

#include <string>

#include "controller/upgrades/judge_functions.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// "verbs.write_bw bandwidth knee of the size curve", of any of its series.
std::string knee_text(store::SeriesRow series);

// All that a series is but for its size: a curve's points have it in common.
std::string curve_text(const store::SeriesRow& series);

// A metric for each kind of curve: a pair's figures are the knees of its launches, each of which
// must have measured all sizes that any of them did, kLeastKneeSizes at least.
void add_knees(const UpgradeData& sides, const NodeRoles& cast, analysis::UpgradeRuns& out);

}  // namespace railgauge

// What a verdict says of causes, of what it was not and of what to do next. Pure.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/upgrades/judge_sides.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Suspects of a regression, the most likely first; of no other verdict.
void add_causes(const Sides& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out);

// What it was not, with what shows that.
void add_excluded(const Sides& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out);

// The command that measures once more for the upgrade's after side, and judges it as it was judged.
std::string continue_command(const std::string& upgrade_id, double min_coverage = 1);

// Commands, after causes and metrics are in `out`.
void add_next(const Sides& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out);

}  // namespace railgauge

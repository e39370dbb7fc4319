// Adds to a verdict its causes, the excluded causes and the next steps. Pure.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Suspects of a regression, the most likely first; of no other verdict.
void add_causes(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                api::Upgrade& out);

// Adds excluded causes, each with its evidence.
void add_excluded(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                  api::Upgrade& out);

// The command that measures once more for the upgrade's after side, and judges it as it was judged.
std::string continue_command(const std::string& upgrade_id, double min_coverage = 1);

// Commands, after causes and metrics are in `out`.
void add_next(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out);

}  // namespace railgauge

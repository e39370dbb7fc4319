// Adds to the report of a verdict its causes, the excluded causes and the next steps. Pure; thread
// safe.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// Adds the suspects of a regression, the most likely first; nothing for another verdict.
void add_causes(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                api::Upgrade& out);

// Adds excluded causes, each with its evidence. Nothing is excluded where a stack is not known.
void add_excluded(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                  api::Upgrade& out);

// The command that adds a run to the upgrade's after side and judges with the same coverage (a
// fraction of the changed pairs, 1: all).
std::string continue_command(const std::string& upgrade_id, double min_coverage = 1);

// Adds the commands that a person runs next. Call it after causes and metrics are in `out`.
void add_next(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out);

}  // namespace railgauge

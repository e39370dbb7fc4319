// A verdict as people and pipelines see it: what, where, how much, since when, why, what it was not
// and what to do. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/api/judge.pb.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// The report of an upgrade without a verdict.
api::Upgrade summary_of(const store::UpgradeRow& row);

// The report of a judged upgrade. `since`: unix seconds when the first of its nodes' stacks
// changed; 0: unknown.
api::Upgrade report_of(const UpgradeData& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since);

// A report as JSON, and back; absent where the text is no report.
std::string json_of(const api::Upgrade& report);
std::optional<api::Upgrade> report_from(const std::string& text);

void add_notes(const UpgradeData& sides, api::Upgrade& out);

}  // namespace railgauge

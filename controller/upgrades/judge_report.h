// The report of an upgrade as people and pipelines read it: extent, places, causes, excluded causes
// and next steps. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// The report of an upgrade without a verdict.
api::Upgrade summary_of(const store::UpgradeRow& row);

// The report of a judged upgrade. `since`: when the first of its nodes' stacks changed; unix
// seconds, 0: not known.
api::Upgrade report_of(const UpgradeData& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since);

// A report as JSON with the field names of the proto, as the store and findings keep it.
std::string json_of(const api::Upgrade& report);
// The report of such a text; unknown fields are ignored. Absent where the text is no report.
std::optional<api::Upgrade> report_from(const std::string& text);

// Adds the limits of the statement: controls that are not used, checks that are missing, endpoints
// that no task used, and changes of Railgauge itself.
void add_notes(const UpgradeData& sides, api::Upgrade& out);

}  // namespace railgauge

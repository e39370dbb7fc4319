// What the before side alone promises. Pure.
#pragma once

#include "controller/api/judge.pb.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// The smallest loss that the worst metric will call four times in five, with a note for each
// metric.
void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade);

}  // namespace railgauge

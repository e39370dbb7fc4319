// The judgements of the large site (large_site.h). Every figure is made up.
#pragma once

#include "controller/api/judge.pb.h"

namespace railgauge::cli {

// 16 nodes, 14 metrics, and 64 ports that lost a function.
api::Upgrade large_upgrade();
// 100 findings, 60 of them of one event.
api::FindingList large_findings();
// 400 golden and accepted levels.
api::BaselineList large_baselines();

}  // namespace railgauge::cli

// The judgements of the large site (large_site.h). Every figure is made up.
#pragma once

#include "controller/api/judge.pb.h"

namespace railgauge::cli {

api::Upgrade large_upgrade();
api::FindingList large_findings();
api::BaselineList large_baselines();

}  // namespace railgauge::cli

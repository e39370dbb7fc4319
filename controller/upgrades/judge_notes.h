// What limits a verdict besides its figures: controls that were left out, checks that nobody asked
// before, Railgauge's own changes. Pure.
#pragma once

#include "controller/api/judge.pb.h"
#include "controller/upgrades/judge_sides.h"

namespace railgauge {

void add_notes(const Sides& sides, api::Upgrade& out);

}  // namespace railgauge

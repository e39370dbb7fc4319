// The material of a made-up morning, for tests and pictures: 512 nodes with 8 rails, three faults,
// one upgrade that waits, five nodes with a busy marker and a dead agent. Every figure is
// synthetic.
#pragma once

#include "controller/api/archive.pb.h"
#include "controller/report/site_report.h"

namespace railgauge::report {

Material morning();
// A matrix of the night's pairs in which gpu017 receives little.
api::PairMatrix morning_matrix();

}  // namespace railgauge::report

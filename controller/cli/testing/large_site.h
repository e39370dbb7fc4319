// The answers of a controller of 512 nodes with 8 rails and mixed faults, for tests of how much is
// printed. Every figure is made up.
#pragma once

#include "controller/cli/testing/fake_archive.h"
#include "controller/cli/testing/fake_control.h"
#include "controller/cli/testing/fake_judge.h"

namespace railgauge::cli {

void fill_large_site(FakeControl& control, FakeArchive& archive, FakeJudge& judge);

}  // namespace railgauge::cli

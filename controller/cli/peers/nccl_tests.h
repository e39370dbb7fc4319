// Which command lines of nccl-tests measure what a task of ours measured.
#pragma once

#include <vector>

#include "controller/cli/peers/perftest.h"

namespace railgauge::cli {

// One line, or one for each size where the sizes are no progression that the tool can be told. All
// ranks on one node are one process with several GPUs (-g); on several nodes mpirun starts one for
// each, which wants the tool built with MPI. NCCL's settings that the task declared stand as
// environment. kUnimplemented with the reason where the tool has no such test. Pure.
Result<std::vector<PeerLine>> nccl_tests_lines(const railgauge::api::TaskDetail& task);

}  // namespace railgauge::cli

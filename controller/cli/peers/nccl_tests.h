// Which command lines of nccl-tests measure what a task of ours measured.
#pragma once

#include <vector>

#include "controller/cli/peers/perftest.h"

namespace railgauge::cli {

// One line, or one for each size where the sizes are no progression that the tool accepts. All
// ranks on one node are one process with several GPUs (-g). On several nodes mpirun starts one
// process for each rank, which needs the tool built with MPI. NCCL's settings of the task become
// environment variables. kUnimplemented with the reason where the tool has no such test. Pure.
Result<std::vector<PeerLine>> nccl_tests_lines(const api::TaskDetail& task);

}  // namespace railgauge::cli

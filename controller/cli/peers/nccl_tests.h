// Command lines of nccl-tests that measure the same as a task of ours.
#pragma once

#include <vector>

#include "controller/cli/peers/perftest.h"

namespace railgauge::cli {

// Returns one line, or one for each size when the sizes are no progression that the tool accepts.
// Ranks on a single node are one process with several GPUs (-g). On several nodes mpirun starts one
// process for each rank, which needs a tool built with MPI. The task's settings of NCCL become
// environment variables. kUnimplemented, with the reason: the tool has no such test. Pure.
Result<std::vector<PeerLine>> nccl_tests_lines(const api::TaskDetail& task);

}  // namespace railgauge::cli

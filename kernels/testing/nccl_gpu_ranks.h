// Runs the ranks of a collective in separate processes, as in production, and looks for GPUs
// without initialising CUDA in the process that forks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge::nccl_gpu {

struct Way {
  std::string kernel;
  std::uint32_t ranks = 1;
  bool sockets = false;
  std::map<std::string, std::string> parameters{};
  std::uint32_t last_dies_at = 0;  // the last rank's process, at this step of the group
};

struct Ended {
  Code code = Code::kUnavailable;
  std::string message = "its process ended without a word";
  std::vector<std::string> lines;
};
std::vector<Ended> run_ranks(const Way& way);

// Returns the text of `say` from a forked process; absent when the process dies first.
std::optional<std::string> said_by_child(const std::function<std::string()>& say);

const GpuPresence& gpus_here();

}  // namespace railgauge::nccl_gpu

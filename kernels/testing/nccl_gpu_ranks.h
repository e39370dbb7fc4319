// Ranks of a collective in processes of their own, as in production, and a look for GPUs that
// leaves no CUDA behind in the process that forks them.
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

// In a process of its own; nothing where that dies before.
std::optional<std::string> said_by_child(const std::function<std::string()>& say);

const GpuPresence& gpus_here();

}  // namespace railgauge::nccl_gpu

// The users of the GPUs, reported by NVML. The library is loaded by the first look and stays open,
// since opening it takes milliseconds a GPU. No CUDA context is ever created. Not thread safe.
#pragma once

#include <set>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/own.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/nvml.h"

namespace railgauge::agent {

// A reader of processes and utilisation of every GPU.
class GpuReader {
 public:
  // Errors are those of loading and initialising NVML, with a remedy.
  Result<std::vector<GpuUse>> look(OwnProcesses& own, double now_seconds);
  // Closes NVML, so that the driver can be unloaded.
  void release();

 private:
  [[nodiscard]] bool is_ours(unsigned pid, std::size_t& unseen_left, OwnProcesses& own) const;

  NvmlUse use_;
  // In a container NVML may report host pids, which this /proc does not have. Pids that existed
  // while no runner of the agent ran belong to others. As many of the remaining ones count as own
  // as there are runners.
  std::set<unsigned> strangers_;
  std::size_t runners_lately_ = 0;
};

}  // namespace railgauge::agent

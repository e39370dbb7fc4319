// Who uses the GPUs, by NVML. The library is loaded with the first look and kept in use, since
// taking it up costs milliseconds a GPU; no CUDA context is ever made. Not thread safe.
#pragma once

#include <set>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/own.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/nvml.h"

namespace railgauge::agent {

class GpuReader {
 public:
  // Errors: those of loading and taking up NVML, with what would help.
  Result<std::vector<GpuUse>> look(OwnProcesses& own, double now_seconds);
  // Lets the driver go, so that it can be unloaded.
  void release();

 private:
  [[nodiscard]] bool is_ours(unsigned pid, std::size_t& unseen_left, OwnProcesses& own) const;

  NvmlUse use_;
  // In a container NVML may show the host's numbers, which our /proc does not know. Those that
  // were there while no runner of ours ran are others'; of the rest as many are taken for ours as
  // we have runners.
  std::set<unsigned> strangers_;
  std::size_t runners_lately_ = 0;
};

}  // namespace railgauge::agent

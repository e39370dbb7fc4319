// Remapped rows of GPU memory, reported by NVML, as readings for the tracker.
#pragma once

#include <vector>

#include "agent/watch/counters.h"
#include "kernels/dl/nvml.h"

namespace railgauge::agent {

class RemapReader {
 public:
  // Returns nothing without NVML and for GPUs that do not report remaps (before Ampere). Loads the
  // library only if `proc_root` shows a driver.
  std::vector<Reading> look(const std::string& proc_root);

 private:
  NvmlUse use_;
};

}  // namespace railgauge::agent

// Rows of GPU memory that were remapped, by NVML: as readings for the tracker.
#pragma once

#include <vector>

#include "agent/watch/counters.h"
#include "kernels/dl/nvml.h"

namespace railgauge::agent {

class RemapReader {
 public:
  // Nothing where NVML is not there, or a GPU does not report it (before Ampere). `proc_root` shows
  // whether there is a driver at all: without one the library is not loaded.
  std::vector<Reading> look(const std::string& proc_root);

 private:
  NvmlUse use_;
};

}  // namespace railgauge::agent

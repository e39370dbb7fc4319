// The waivers that a GPU kernel may give on a real machine, by what that machine lacks: the test on
// real GPUs fails for any other waiver, which would otherwise look like a measurement.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace railgauge {

// The equipment of a machine, as far as a kernel may need it. Read without the kernels' own code.
struct GpuMachine {
  std::size_t gpus = 1;
  bool slice = false;              // gpu0 is one of a partitioned GPU (MIG)
  bool some_slice = false;         // any of them is
  bool peers = false;              // some pair of GPUs has peer access
  std::size_t numa_nodes = 1;      // with CPUs
  bool gpu_node_known = false;     // of gpu0
  bool gpus_on_one_node = false;   // all of them, and it is known
  bool may_bind_memory = false;    // set_mempolicy is allowed
  bool coherent = false;           // CPU and GPU share page tables
  bool gdrdrv = false;             // the module and its library
  bool dmabuf_mmap = false;        // the driver lets a dma-buf be mapped
  bool vulkan = false;             // loader, NVIDIA's driver file, and a large BAR
  bool device_code = false;        // nvcc was there at build time
  bool driver_reads_code = false;  // it is not older than the PTX of any of it
  bool gpu_runs_code = false;      // no GPU's compute capability is below the PTX's
  bool stream_memops = false;      // the driver's default
  std::set<std::string> routines;  // of the CPU, to copy with
};

// The words one of which is in the reason of a waiver that this machine explains. None: the kernel
// must measure. Pure.
std::vector<std::string> may_waive(const GpuMachine& machine, const std::string& kernel,
                                   const std::map<std::string, std::string>& parameters);

}  // namespace railgauge

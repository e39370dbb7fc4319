// The waivers that a GPU kernel may give on a real machine, by what the machine lacks. The test on
// real GPUs fails for any other waiver, which would otherwise pass for a measurement.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace railgauge {

// The equipment of a machine that kernels may need, read without the kernels' own code.
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
  bool driver_reads_code = false;  // not older than what any of the PTX needs
  bool gpu_runs_code = false;      // no GPU's compute capability is below the PTX's
  bool stream_memops = false;      // the driver's default
  bool gpu_has_tma = false;        // every GPU has bulk asynchronous copies
  bool driver_reads_tma = false;   // not older than the PTX of their code needs
  bool huge_pages = false;         // enough free ones of 2 MiB for a copy's buffers
  std::set<std::string> routines;  // of the CPU, to copy with
};

// Returns texts, one of which must be in the reason of a waiver on this machine. Empty: the kernel
// must measure. Pure.
std::vector<std::string> may_waive(const GpuMachine& machine, const std::string& kernel,
                                   const std::map<std::string, std::string>& parameters);

}  // namespace railgauge

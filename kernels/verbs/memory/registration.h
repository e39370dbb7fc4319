// How a NIC comes to reach memory. The host's is registered by its address. A GPU's by a dma-buf of
// the CUDA driver (ibv_reg_dmabuf_mr) first, for which no module of anybody else must fit both
// drivers; then by its address, which works where nvidia-peermem is loaded.
#pragma once

#include <string>

#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

struct RegistrationForm {
  // Remote access (IBV_ACCESS_*); local writes are always granted.
  int access = 0;
  bool relaxed_ordering = false;
  // Path to a GPU's memory: "auto", "dma-buf" or "nvidia-peermem".
  std::string path = "auto";
};

struct Registration {
  MemoryRegionHandle region;
  // The path that worked: "host", "dma-buf", "nvidia-peermem".
  std::string path;
  // The paths that were tried before it, each with the failing call and its error.
  std::string refused;
};

// Plain memory of the host, or addresses that a module of the kernel knows.
Result<MemoryRegionHandle> register_addresses(const Device& device, ibv_pd* domain,
                                              std::span<std::byte> memory, int access,
                                              bool relaxed_ordering);

// Registers all of `memory`. kFailedPrecondition with every failing call where none of the paths
// works for a GPU's.
Result<Registration> register_all(const Device& device, ibv_pd* domain, const Memory& memory,
                                  const RegistrationForm& form);

}  // namespace railgauge::verbs

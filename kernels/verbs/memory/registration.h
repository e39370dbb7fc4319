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
  int access = 0;  // besides local writes
  bool relaxed_ordering = false;
  std::string path = "auto";  // or "dma-buf", "nvidia-peermem": of a GPU's memory
};

struct Registration {
  MemoryRegionHandle region;
  std::string path;     // "host", "dma-buf", "nvidia-peermem"
  std::string refused;  // what was tried before it, with the failing call and its error
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

// Registers memory with a NIC. Host memory is registered by its address. GPU memory is registered
// by a dma-buf of the CUDA driver (ibv_reg_dmabuf_mr) first, which needs no third-party module that
// fits both drivers; then by its address, which works with nvidia-peermem loaded.
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
  // Host memory alone: the adapter takes its pages as it needs them, which costs a fault each, and
  // the memory is not locked.
  bool on_demand = false;
  // Path to a GPU's memory: "auto", "dma-buf" or "nvidia-peermem".
  std::string path = "auto";
  // Mapping of a dma-buf: "auto" follows the topology (dmabuf.h).
  std::string mapping = "auto";
};

struct Registration {
  MemoryRegionHandle region;
  // The path that worked: "host", "host, on demand", "dma-buf", "nvidia-peermem".
  std::string path;
  // A dma-buf's mapping and the reason for it; "" on other paths.
  std::string mapping;
  std::string mapping_reason;
  // The paths tried before, each with the failing call and its error.
  std::string refused;
};

// Registers host memory, or addresses that a kernel module knows.
Result<MemoryRegionHandle> register_addresses(const Device& device, ibv_pd* domain,
                                              std::span<std::byte> memory, int access,
                                              bool relaxed_ordering);

// Registers all of `memory`. kFailedPrecondition, with every failing call, when no path works for
// GPU memory.
Result<Registration> register_all(const Device& device, ibv_pd* domain, const Memory& memory,
                                  const RegistrationForm& form);

}  // namespace railgauge::verbs

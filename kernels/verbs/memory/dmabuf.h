// Registers a GPU's memory with a NIC by a dma-buf of the CUDA driver, by the mapping that the
// machine's topology asks for (kernels/core/dmabuf_mapping.h).
#pragma once

#include <string>

#include "kernels/core/dmabuf_mapping.h"
#include "kernels/verbs/memory/memory.h"
#include "kernels/verbs/transport/device.h"
#include "kernels/verbs/transport/handles.h"

namespace railgauge::verbs {

struct DmabufForm {
  // All access flags of the region (IBV_ACCESS_*).
  int access = 0;
  // "auto" or one of mapping_words().
  std::string mapping = "auto";
};

struct DmabufRegion {
  MemoryRegionHandle region;
  DmabufMapping mapping = DmabufMapping::kDefault;
  // Why this mapping: a fact of the topology, or the parameter.
  std::string reason;
  // Each mapping tried before, with the failing call and its error.
  std::string refused;
};

// Reads the topology of the NIC and the GPU from sysfs and the driver. Unknown is not shared: the
// driver's own choice follows.
Result<DmabufPaths> read_dmabuf_paths(const Device& device, const gpu::Gpu& gpu);

// Registers all of `memory`, which is a GPU's; its context must be current. Where Data Direct is
// refused, the mapping is the one that the NIC would have without it. kUnimplemented where a
// library or the driver lacks the calls; kFailedPrecondition where they refuse every mapping.
Result<DmabufRegion> register_dmabuf(const Device& device, ibv_pd* domain, const Memory& memory,
                                     const DmabufForm& form);

}  // namespace railgauge::verbs

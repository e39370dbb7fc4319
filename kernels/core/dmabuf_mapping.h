// The mapping by which a GPU exports its memory to a NIC as a dma-buf. An export has exactly one
// path to the memory. A NIC's driver registers an export of a path that its adapter cannot use
// without an error, and data that moves is lost (ofiwg/libfabric#10967 and #12864).
#pragma once

#include <cstdint>
#include <string_view>

namespace railgauge {

enum class DmabufMapping : std::uint8_t {
  // The driver's own choice (flags 0): the PCIe BAR on a GPU that only PCIe reaches, the memory
  // behind NVLink-C2C on a coherent one (GH200, GB200, GB300).
  kDefault,
  // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE: the PCIe BAR.
  kPcie,
  // kPcie, registered for the NIC's Data Direct function, which is a PCIe function of its own
  // beside the GPU (ConnectX-8; mlx5dv_reg_dmabuf_mr).
  kDataDirect,
};
// Returns "default", "pcie" or "data-direct", the words of the parameter dmabuf_mapping.
std::string_view mapping_words(DmabufMapping mapping);

// The part of a node's topology that decides, for one GPU and one NIC.
struct DmabufPaths {
  // CPU and GPU share one address space by NVLink-C2C.
  bool is_coherent = false;
  // A PCIe bridge below the host bridge is above both.
  bool nic_shares_bridge = false;
  // The NIC has a Data Direct function, and such a bridge is above it and the GPU.
  bool direct_shares_bridge = false;
};

// A mapping and the fact of the topology that it follows from.
struct MappingChoice {
  DmabufMapping mapping = DmabufMapping::kDefault;
  std::string_view reason;
};

// Pure.
MappingChoice choose_dmabuf_mapping(const DmabufPaths& paths);

// Returns whether a PCIe bridge is above both devices. `a` and `b` are their folders in sysfs with
// links resolved: "/sys/devices/pci0009:00/0009:00:00.0/0009:01:00.0". False for any other text.
bool share_pci_bridge(std::string_view a, std::string_view b);

}  // namespace railgauge

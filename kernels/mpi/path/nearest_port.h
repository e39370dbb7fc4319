// The NIC of a rank that is placed on a GPU.
#pragma once

#include <string>

namespace railgauge::mpi {

// Returns the RDMA port nearest to the GPU at `pci_address` ("0000:3b:00.0"): "mlx5_0:1", or "" on
// a host without RDMA ports. Active ports come before others, then those that share most PCI
// bridges with the GPU, then those of its NUMA node, then the first by name. `sysfs` is "/sys", or
// a folder in its place.
std::string nearest_port(const std::string& pci_address, const std::string& sysfs);

}  // namespace railgauge::mpi

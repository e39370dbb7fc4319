// The sources of an inventory. Each reads its own files and returns a function that stores the
// result, because a result that arrives too late is dropped.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/inventory/sources/node_files.h"

namespace railgauge::agent {

using Apply = std::function<void(Inventory&)>;

// Returns a function that stores a part of the inventory.
template <class Part>
Apply put(Part part) {
  return [part = std::move(part)](Inventory& inventory) { static_cast<Part&>(inventory) = part; };
}

// The first wave: places, classes and drivers. No device is asked.
Apply read_pci_tree(const NodeFiles& files);
Apply read_gpu_driver(const NodeFiles& files);
Apply read_rdma_names(const NodeFiles& files);
Apply read_net_names(const NodeFiles& files);
Apply read_numa(const NodeFiles& files);
Apply read_cpu(const NodeFiles& files);
Apply read_machine(const NodeFiles& files);
Apply read_linux(const NodeFiles& files);
Apply read_device_nodes(const NodeFiles& files);
Apply read_limits(const NodeFiles& files);
Apply read_modules(const NodeFiles& files);
Apply read_module_files(const NodeFiles& files);
Apply read_symbols(const NodeFiles& files);
Apply read_services(const NodeFiles& files);
Apply read_libraries(const NodeFiles& files);
Apply read_packages(const NodeFiles& files);
Apply read_kernel_log(const NodeFiles& files);
Apply read_mpi_installation(const NodeFiles& files, const MpiInstallation& installation);
Apply read_nvml();  // of this machine, by the driver's library

// Reads the version in FOLDER/pkgconfig/NAME.pc.
Fact<std::string> pkgconfig_version(const NodeFiles& files, const std::string& folder,
                                    const std::string& name);
// Reads the version behind `prefix` in the name of the file that FOLDER/SONAME links to: "2.21.5"
// for "libnccl.so.2" -> "libnccl.so.2.21.5". Unknown: the file exists, but its name has no version.
Fact<std::string> library_version(const NodeFiles& files, const std::string& folder,
                                  const std::string& soname, std::string_view prefix);

// Whether a device file opens for reading and writing. A known false has the reason.
Fact<bool> can_open(const NodeFiles& files, const std::string& path);

// The second wave, one source for each device, because these reads ask the device's registers,
// firmware or driver. Each takes the device as the first wave read it and replaces it as a whole.
Apply read_pci_device(const NodeFiles& files, PciDevice device);
Apply read_gpu_information(const NodeFiles& files, const std::string& address);
Apply read_rdma_device(const NodeFiles& files, RdmaDevice device);
Apply read_net_device(const NodeFiles& files, NetDevice device);

// Sorts GPUs and sets their names and states, after both waves. Pure.
void name_gpus(Inventory& inventory);

// Reads the files of a counter folder as numbers by name; skips files without a number. Known with
// a reason: one of the files could not be read.
Fact<Counters> read_counters(const NodeFiles& files, const std::string& folder);

// Returns the names of all modules that the inventory reads, with underscores, sorted.
const std::vector<std::string_view>& known_modules();
// Returns a module's name with underscores: "nvidia-peermem" and "nvidia_peermem" are one module.
std::string module_name(std::string_view text);

}  // namespace railgauge::agent

// The sources of an inventory. Each reads its own places and returns a function that puts the
// result in place, since the result may arrive too late to be used.
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

// Puts a part of the inventory in place.
template <class Part>
Apply put(Part part) {
  return [part = std::move(part)](Inventory& inventory) { static_cast<Part&>(inventory) = part; };
}

// The first wave: places, classes and drivers. Nothing asks a device.
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
Apply read_nvml();  // of this machine, through the driver's library

// The version in FOLDER/pkgconfig/NAME.pc.
Fact<std::string> pkgconfig_version(const NodeFiles& files, const std::string& folder,
                                    const std::string& name);
// The text after `prefix` in the name of the file that FOLDER/SONAME points to: "libnccl.so.2" to
// "libnccl.so.2.21.5" to "2.21.5". Unknown: the file exists, and its name has no version.
Fact<std::string> library_version(const NodeFiles& files, const std::string& folder,
                                  const std::string& soname, std::string_view prefix);

// Whether a device file opens for reading and writing; known and false has the reason.
Fact<bool> can_open(const NodeFiles& files, const std::string& path);

// The second wave, one source for each device, since these ask it: registers, firmware, driver. A
// device comes as the first wave left it, and goes back whole.
Apply read_pci_device(const NodeFiles& files, PciDevice device);
Apply read_gpu_information(const NodeFiles& files, const std::string& address);
Apply read_rdma_device(const NodeFiles& files, RdmaDevice device);
Apply read_net_device(const NodeFiles& files, NetDevice device);

// Sorts GPUs and sets names and states, once everything is read. Pure.
void name_gpus(Inventory& inventory);

// The files of an interface's or port's folder as numbers by name; other files are left out. Known
// with a reason: one of them could not be read.
Fact<Counters> read_counters(const NodeFiles& files, const std::string& folder);

// The modules that this program knows, with underscores, sorted.
const std::vector<std::string_view>& known_modules();
// "nvidia-peermem" and "nvidia_peermem" are one module.
std::string module_name(std::string_view text);

}  // namespace railgauge::agent

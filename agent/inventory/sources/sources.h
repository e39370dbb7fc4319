// The places that an inventory is read from. Each reads what it owns and answers with a call that
// puts it in place, since it may come too late to be wanted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/inventory/sources/node_files.h"

namespace railgauge::agent {

using Apply = std::function<void(Inventory&)>;

struct Source {
  std::string name;
  std::function<Apply(const NodeFiles&)> read;
};

// In the first wave.
Apply read_pci_tree(const NodeFiles& files);  // places, classes, drivers: nothing asks a device
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
// The text behind `prefix` in the name of the file that FOLDER/SONAME leads to: "libnccl.so.2" to
// "libnccl.so.2.21.5" to "2.21.5". Unknown: it is there, and its name has no version.
Fact<std::string> library_version(const NodeFiles& files, const std::string& folder,
                                  const std::string& soname, std::string_view prefix);

// Whether a device file of the node opens for reading and writing; known and false says why.
Fact<bool> can_open(const NodeFiles& files, const std::string& path);

// In the second wave, one a device, since they ask it: its registers, its firmware, its driver.
Apply read_pci_device(const NodeFiles& files, const std::string& address);
Apply read_gpu_information(const NodeFiles& files, const std::string& address);
Apply read_rdma_device(const NodeFiles& files, const std::string& name);
Apply read_net_device(const NodeFiles& files, const std::string& name);

// Brings GPUs into their order, names and states, once all is there. Pure.
void name_gpus(Inventory& inventory);

// The files of an interface's or a port's folder, as numbers by name; others are left out. Known
// with a reason: one of them could not be read, and why.
Fact<Counters> read_counters(const NodeFiles& files, const std::string& folder);

// Modules that this program knows by name, with underscores.
const std::vector<std::string>& known_modules();
// Services likewise.
const std::vector<std::string>& known_services();
// NVML's "00000000:1B:00.0" as sysfs has it; "" for anything else.
std::string short_address(const std::string& bus_id);
// "nvidia-peermem" and "nvidia_peermem" are one.
std::string module_name(std::string_view text);

}  // namespace railgauge::agent

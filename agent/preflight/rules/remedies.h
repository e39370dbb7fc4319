// Commands that differ between distributions. Text only.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

enum class Family { kDebian, kRedHat, kSuse, kOther };
Family family_of(const Inventory& node);

// Takes a package away. Names differ by distribution: `deb` and `rpm`.
std::string uninstall_command(const Inventory& node, const std::string& deb,
                              const std::string& rpm);
// Words added to the kernel's command line, for the next boot and those after it.
std::vector<std::string> kernel_argument_commands(const Inventory& node, const std::string& words);
// Loads `module` now and at each boot.
std::vector<std::string> load_module_commands(const std::string& module);
std::string load_at_boot_command(const std::string& module);
// Takes `module` (with underscores) out of a file that loads it at boot: its own line in
// modules-load.d, its word in a softdep of modprobe.d. A package's file is hidden by one of the
// same name below /etc, which its next version leaves alone.
std::vector<std::string> stop_loading_commands(const std::string& file, const std::string& module);
// The GPU driver built again for the running kernel and RDMA stack.
std::vector<std::string> rebuild_gpu_driver_commands(const Inventory& node);
// The open kernel modules in place of the proprietary ones.
std::vector<std::string> open_driver_commands(const Inventory& node);

}  // namespace railgauge::agent

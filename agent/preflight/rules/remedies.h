// Remedies whose commands differ between distributions. Text only: nothing is run.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

enum class Family { kDebian, kRedHat, kSuse, kOther };
Family family_of(const Inventory& node);

// Returns the command that removes a package, named `deb` on Debian's family and `rpm` on others.
std::string uninstall_command(const Inventory& node, const std::string& deb,
                              const std::string& rpm);
// Returns commands that add `words` to the kernel's command line from the next boot on.
std::vector<std::string> kernel_argument_commands(const Inventory& node, const std::string& words);
// Returns commands that load `module` now and at each boot.
std::vector<std::string> load_module_commands(const std::string& module);
std::string load_at_boot_command(const std::string& module);
// Returns commands that remove `module` (with underscores) from a file that loads it at boot: its
// line in modules-load.d, or its word in a softdep of modprobe.d. A package's file is hidden by a
// file of the same name below /etc, which survives the package's next version.
std::vector<std::string> stop_loading_commands(const std::string& file, const std::string& module);
// Returns commands that rebuild the GPU driver for the running kernel and RDMA stack.
std::vector<std::string> rebuild_gpu_driver_commands(const Inventory& node);
// Returns commands that replace the proprietary kernel modules by the open ones.
std::vector<std::string> open_driver_commands(const Inventory& node);

}  // namespace railgauge::agent

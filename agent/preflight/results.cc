#include "agent/preflight/results.h"

namespace railgauge::agent {

std::vector<std::string> config_space_remedy(const std::string& pci_address) {
  return {"# configuration space beyond 64 bytes needs CAP_SYS_ADMIN: let the helper answer, once:",
          "setcap cap_sys_admin+ep /usr/bin/railgauge-node-facts",
          fmt::format("# or look yourself, as root: lspci -vvv -s {}", pci_address)};
}

std::vector<std::string> kernel_log_remedy() {
  return {"# the kernel's log needs the journal's group (or kernel.dmesg_restrict=0):",
          "usermod -aG systemd-journal railgauge && systemctl restart railgauge-agent",
          "# or look yourself, as root: dmesg"};
}

}  // namespace railgauge::agent

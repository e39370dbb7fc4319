#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {
// The packaged agent asks the helper over a socket: it may gain no privilege, so file capabilities
// have no effect.
constexpr const char* kStartHelper = "systemctl enable --now railgauge-node-facts.socket";
constexpr const char* kCapabilities =
    "# without systemd, beside an agent that may gain privileges: setcap "
    "cap_sys_admin,cap_syslog+ep /usr/bin/railgauge-node-facts";
}  // namespace

std::vector<std::string> config_space_remedy(const std::string& pci_address) {
  return {"# configuration space beyond 64 bytes needs CAP_SYS_ADMIN, which the helper alone has:",
          kStartHelper, kCapabilities,
          fmt::format("# or look yourself, as root: lspci -vvv -s {}", pci_address)};
}

std::vector<std::string> kernel_log_remedy() {
  return {
      "# the kernel's log needs CAP_SYSLOG where kernel.dmesg_restrict is 1; the helper has it:",
      kStartHelper, kCapabilities, "# or look yourself, as root: dmesg"};
}

CheckResult cut_log(const Inventory& node, std::string subject, std::string_view words) {
  return unknown(std::move(subject),
                 fmt::format("the kernel's log no longer goes back to the boot; what is left of it "
                             "has no \"{}\"",
                             words),
                 node.kernel_log, {fmt::format("journalctl -k -b | grep '{}'", words)});
}

}  // namespace railgauge::agent

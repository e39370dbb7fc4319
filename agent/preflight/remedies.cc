#include "agent/preflight/remedies.h"

#include <fmt/format.h>

namespace railgauge::agent {
namespace {

bool mentions(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// "550" of "550.54.15".
std::string branch_of(const std::string& version) { return version.substr(0, version.find('.')); }

}  // namespace

Family family_of(const Inventory& node) {
  const std::string words =
      node.distribution.value_or("") + " " + node.distribution_like.value_or("");
  if (mentions(words, "debian") || mentions(words, "ubuntu")) return Family::kDebian;
  if (mentions(words, "suse") || mentions(words, "sles")) return Family::kSuse;
  for (const char* word : {"rhel", "fedora", "centos", "rocky", "almalinux", "ol", "amzn"})
    if (mentions(words, word)) return Family::kRedHat;
  return Family::kOther;
}

std::string uninstall_command(const Inventory& node, const std::string& deb,
                              const std::string& rpm) {
  switch (family_of(node)) {
    case Family::kDebian:
      return "apt-get purge " + deb;
    case Family::kRedHat:
      return "dnf remove " + rpm;
    case Family::kSuse:
      return "zypper remove " + rpm;
    case Family::kOther:
      break;
  }
  return fmt::format("# remove the package {} (named {} on some distributions)", rpm, deb);
}

std::vector<std::string> kernel_argument_commands(const Inventory& node, const std::string& words) {
  switch (family_of(node)) {
    case Family::kDebian:
      return {fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&{} /' /etc/default/grub", words),
              "update-grub && reboot"};
    case Family::kRedHat:
      return {fmt::format("grubby --update-kernel=ALL --args=\"{}\" && reboot", words)};
    case Family::kSuse:
      return {
          fmt::format("sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT=\"/&{} /' /etc/default/grub", words),
          "grub2-mkconfig -o /boot/grub2/grub.cfg && reboot"};
    case Family::kOther:
      break;
  }
  return {
      fmt::format("# add \"{}\" to the kernel's command line in the boot loader, reboot", words)};
}

std::string load_at_boot_command(const std::string& module) {
  return fmt::format("echo {0} > /etc/modules-load.d/{0}.conf", module);
}

std::vector<std::string> load_module_commands(const std::string& module) {
  return {"modprobe " + module, load_at_boot_command(module)};
}

std::vector<std::string> rebuild_gpu_driver_commands(const Inventory& node) {
  const std::string release = node.kernel_release.value_or("$(uname -r)");
  for (const auto& [name, state] : node.dkms.value_or({})) {
    if (!name.starts_with("nvidia/")) continue;
    const std::string version = name.substr(name.find('/') + 1);
    return {fmt::format("dkms remove nvidia/{} -k {} && dkms install nvidia/{} -k {}", version,
                        release, version, release),
            "modprobe -r nvidia-peermem; modprobe nvidia-peermem"};
  }
  return {fmt::format("# install GPU driver {} again, now that this OFED is there: its installer "
                      "builds nvidia-peermem against the ib_core that it finds",
                      node.gpu_driver.value_or("(the same version)")),
          "modprobe -r nvidia-peermem; modprobe nvidia-peermem"};
}

std::vector<std::string> open_driver_commands(const Inventory& node) {
  const std::string branch = branch_of(node.gpu_driver.value_or("580"));
  switch (family_of(node)) {
    case Family::kDebian:
      return {fmt::format("apt-get install nvidia-driver-{}-server-open && reboot", branch)};
    case Family::kRedHat:
      return {"dnf module switch-to nvidia-driver:open-dkms && reboot"};
    case Family::kSuse:
      return {fmt::format("zypper install nvidia-open-driver-G06-signed-kmp-default && reboot")};
    case Family::kOther:
      break;
  }
  return {
      "# install the same GPU driver with its open kernel modules (installer: "
      "--kernel-module-type=open), reboot"};
}

}  // namespace railgauge::agent

#include "agent/preflight/rules/remedies.h"

#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "agent/preflight/rules/version.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

// Whole words alone: "ol" (Oracle Linux) is not in "solus".
bool mentions(const std::string& text, std::string_view word) {
  std::istringstream words(text);
  for (std::string each; words >> each;)
    if (each == word || each.starts_with(std::string(word) + "-")) return true;
  return false;
}

unsigned major_release(const Inventory& node) {
  const auto parts = version_of(node.distribution_version.value_or(""));
  return parts.empty() ? 0 : parts[0];
}

// Whether NVIDIA's packages are streams of a dnf module, in releases 8 and 9. In other releases,
// and without dnf modules (Fedora, Amazon Linux), the open driver is a package.
bool has_driver_streams(const Inventory& node) {
  const std::string id = node.distribution.value_or("");
  return id != "fedora" && id != "amzn" && (major_release(node) == 8 || major_release(node) == 9);
}

// "550" of "550.54.15".
std::string branch_of(const std::string& version) { return version.substr(0, version.find('.')); }

}  // namespace

Family family_of(const Inventory& node) {
  const std::string words =
      node.distribution.value_or("") + " " + node.distribution_like.value_or("");
  if (mentions(words, "debian") || mentions(words, "ubuntu")) return Family::kDebian;
  for (const char* word : {"suse", "sles", "opensuse"})
    if (mentions(words, word)) return Family::kSuse;
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

std::vector<std::string> stop_loading_commands(const std::string& file, const std::string& module) {
  std::string name;  // hyphens and underscores are one
  for (const char letter : module)
    name += letter == '_' ? std::string("[-_]") : std::string(1, letter);
  const std::string script =
      fmt::format(R"(-E -e '/^[[:space:]]*{0}([[:space:]]|$)/d' )"
                  R"(-e '/^[[:space:]]*softdep/s/[[:space:]]+{0}([[:space:]]|$)/\1/g')",
                  name);
  if (file.starts_with("/etc/")) return {fmt::format("sed -i {} {}", script, shell_quoted(file))};
  const std::size_t slash = file.rfind('/', file.rfind('/') - 1);
  return {"# a file of the same name below /etc replaces it:",
          fmt::format("sed {} {} > {}", script, shell_quoted(file),
                      shell_quoted("/etc" + file.substr(slash)))};
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
      if (node.distribution.is("ubuntu"))
        return {fmt::format("apt-get install nvidia-driver-{}-server-open && reboot", branch)};
      return {"# from NVIDIA's repository for Debian:", "apt-get install nvidia-open && reboot"};
    case Family::kRedHat:
      if (has_driver_streams(node))
        return {"dnf module switch-to nvidia-driver:open-dkms && reboot"};
      return {"# from NVIDIA's repository:", "dnf install --allowerasing nvidia-open && reboot"};
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

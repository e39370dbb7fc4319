// Which module lets a NIC reach GPU memory by address: nvidia-peermem, or its forerunner
// nv_peer_mem, never both. dma-buf needs neither.
#include <algorithm>
#include <array>
#include <optional>

#include "agent/preflight/checks/dmabuf.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

constexpr const char* kModule = "nvidia_peermem";
constexpr const char* kLegacy = "nv_peer_mem";
constexpr const char* kModules = "/proc/modules";
// The name of the legacy module, by distribution and age.
constexpr std::array<const char*, 4> kLegacyPackages{"nvidia-peer-memory", "nvidia_peer_memory",
                                                     "nvidia-peer-memory-dkms", "nv_peer_mem"};

std::string name_with_version(const Inventory& node, const char* name) {
  const ModuleFacts* module = node.module(name);
  const std::string version = module == nullptr ? "" : module->version.value_or("");
  return version.empty() ? std::string(name) : fmt::format("{} {}", name, version);
}

CheckResult judge_loaded(const Inventory& node) {
  const auto& autoload = node.autoload.value;  // modules found so far; if open, more may exist
  const std::string loaded = name_with_version(node, kModule) + " is loaded";
  if (const auto service = node.services.find("nvidia-peermem");
      service != node.services.end() && service->second.enablement.is("enabled"))
    return passed("", loaded + ", at boot by its service", service->second.enablement);
  if (node.autoload.is_known() && !autoload.contains(kModule))
    return warned("", loaded + ", but no file loads it at boot", node.autoload,
                  {load_at_boot_command("nvidia-peermem")});
  const auto file = autoload.find(kModule);
  return passed("",
                file == autoload.end() ? fmt::format("{}; whether at boot too is not known: {}",
                                                     loaded, node.autoload.reason)
                                       : fmt::format("{}, at boot by {}", loaded, file->second),
                kModules);
}

// Judges a node with the kernel's own RDMA stack, on which no such module can load.
CheckResult judge_without_clients(const Inventory& node) {
  const bool is_open = !dmabuf_ruled_out(node);
  std::vector<std::string> remedy;
  if (is_open)
    remedy.emplace_back("railgauge preflight --probe  # reports whether dma-buf takes its place");
  else if (!dmabuf_gpu_obstacle(node).empty()) {
    remedy.emplace_back("# either dma-buf, which needs the GPU driver's open kernel modules:");
    for (std::string& line : open_driver_commands(node)) remedy.push_back(std::move(line));
  }
  remedy.emplace_back(
      "# or an RDMA stack that takes such a module (DOCA-OFED), and then the GPU driver again: its "
      "installer builds nvidia-peermem against it");
  return (is_open ? unknown : failed)(
      "",
      fmt::format(
          "this kernel's own RDMA stack takes no peer-memory module, and {}",
          is_open ? "whether dma-buf takes its place is not known" : "dma-buf is not in place"),
      node.peer_memory_symbol.source, std::move(remedy));
}

CheckResult judge_absent(const Inventory& node) {
  if (dmabuf_in_place(node))
    return waived("", "no peer-memory module is loaded; dma-buf takes its place here", kModules);
  if (node.peer_memory_symbol.is(false)) return judge_without_clients(node);
  const ModuleFacts* module = node.module(kModule);
  const bool installed = module != nullptr && module->file.is_known();
  std::vector<std::string> remedy;
  if (node.blacklist.value.contains(kModule))
    remedy.push_back(fmt::format("# {} forbids it: take the line \"blacklist nvidia_peermem\" out",
                                 node.blacklist.value.at(kModule)));
  if (installed) {
    for (std::string& line : load_module_commands("nvidia-peermem"))
      remedy.push_back(std::move(line));
  } else {
    remedy.emplace_back(
        "# nvidia-peermem is part of GPU driver 470 and later; the installer leaves it out where "
        "it finds no RDMA stack:");
    for (std::string& line : rebuild_gpu_driver_commands(node)) remedy.push_back(std::move(line));
    remedy.push_back(load_at_boot_command("nvidia-peermem"));
  }
  const bool is_open = !dmabuf_ruled_out(node);
  if (is_open)
    remedy.insert(remedy.begin(), "railgauge preflight --probe  # reports it; if it fails:");
  return (is_open ? unknown : failed)(
      "",
      fmt::format(
          "no peer-memory module is {}, and {}", installed ? "loaded" : "installed",
          is_open ? "whether dma-buf takes its place is not known" : "dma-buf is not in place"),
      kModules, std::move(remedy));
}

std::vector<std::string> legacy_removal(const Inventory& node) {
  std::vector<std::string> remedy{"systemctl disable --now nv_peer_mem"};
  if (node.is_loaded(kLegacy)) remedy.emplace_back("modprobe -r nv_peer_mem");
  const auto& autoload = node.autoload.value;
  if (const auto file = autoload.find(kLegacy); file != autoload.end())
    for (std::string& line : stop_loading_commands(file->second, kLegacy))
      remedy.push_back(std::move(line));
  std::string installed;
  for (const auto& [name, version] : node.packages.value)
    if (std::ranges::find(kLegacyPackages, name) != kLegacyPackages.end())
      installed += (installed.empty() ? "" : " ") + name;
  remedy.push_back(installed.empty()
                       ? uninstall_command(node, "nvidia-peer-memory nvidia-peer-memory-dkms",
                                           "nvidia_peer_memory")
                       : uninstall_command(node, installed, installed));
  if (node.is_loaded(kModule))
    remedy.emplace_back("modprobe -r nvidia-peermem && modprobe nvidia-peermem");
  else
    for (std::string& line : load_module_commands("nvidia-peermem"))
      remedy.push_back(std::move(line));
  return remedy;
}

// The file that would bring the legacy module back at boot; "" when none would.
std::string what_returns(const Inventory& node) {
  if (const auto service = node.services.find(kLegacy);
      service != node.services.end() && service->second.enablement.is("enabled"))
    return "its service nv_peer_mem is enabled";
  const auto& autoload = node.autoload.value;
  if (const auto file = autoload.find(kLegacy); file != autoload.end())
    return fmt::format("{} loads it", file->second);
  for (const auto& [name, version] : node.packages.value_or({}))
    if (std::ranges::find(kLegacyPackages, name) != kLegacyPackages.end())
      return fmt::format("its package {} {} is installed", name, version);
  for (const auto& [name, state] : node.dkms.value)
    if (name.starts_with("nv_peer_mem/") || name.starts_with("nvidia-peer-memory/"))
      return fmt::format("dkms builds {}", name);
  return "";
}

// Returns the result for an unread file that could load the legacy module at boot; absent if all
// were read.
std::optional<CheckResult> unread_place(const Inventory& node) {
  const auto service = node.services.find(kLegacy);
  if (service == node.services.end())
    return unknown("", "whether a service nv_peer_mem starts is not known", "/etc/systemd/system");
  if (service->second.enablement.is_open())
    return not_known("", "whether a service nv_peer_mem starts", service->second.enablement);
  if (node.autoload.is_open())
    return not_known("", "which modules are loaded at boot", node.autoload);
  if (node.packages.is_open()) return not_known("", "which packages are installed", node.packages);
  if (node.dkms.is_open()) return not_known("", "which modules dkms builds", node.dkms);
  return std::nullopt;
}

}  // namespace

CheckResults judge_peer_memory_client(const CheckInput& input) {
  const Inventory& node = input.node;
  if (auto none = no_pairs(node)) return std::move(*none);
  if (std::ranges::all_of(node.gpus, is_unified))
    return waived("these GPUs share the host's memory, which any NIC reaches");
  if (!node.loaded_modules.is_known())
    return {not_known("", "the list of loaded modules", node.loaded_modules)};
  if (node.is_loaded(kModule)) return {judge_loaded(node)};
  if (node.is_loaded(kLegacy))
    return {warned("",
                   name_with_version(node, kLegacy) +
                       " is loaded: it works, but nvidia-peermem, which comes with the driver, has "
                       "taken its place",
                   kModules, legacy_removal(node))};
  return {judge_absent(node)};
}

CheckResults judge_peer_memory_conflict(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  if (!node.loaded_modules.is_known())
    return {not_known("", "the list of loaded modules", node.loaded_modules)};
  if (node.is_loaded(kLegacy) && node.is_loaded(kModule))
    return {failed("",
                   fmt::format("{} and {} are both loaded", name_with_version(node, kModule),
                               name_with_version(node, kLegacy)),
                   kModules, legacy_removal(node))};
  if (node.is_loaded(kLegacy)) return {passed("", "nv_peer_mem alone is loaded", kModules)};
  const std::string returns = what_returns(node);
  if (!returns.empty())
    return {warned("",
                   fmt::format("nv_peer_mem is not loaded, but {}: it returns at boot", returns),
                   "services, modules-load.d, packages, dkms", legacy_removal(node))};
  if (auto unread = unread_place(node)) return {std::move(*unread)};
  return {passed("", "nothing of nv_peer_mem is here", kModules)};
}

}  // namespace railgauge::agent

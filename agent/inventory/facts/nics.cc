#include "agent/inventory/facts/nics.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "agent/inventory/facts/files.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

// "4: ACTIVE" to "active".
std::string parse_state(const std::string& text) {
  const auto colon = text.find(": ");
  return lower(colon == std::string::npos ? text : text.substr(colon + 2));
}

void fill_device(const fs::path& folder, api::Nic& nic) {
  nic.set_guid(line_of(folder / "node_guid"));
  nic.set_firmware(line_of(folder / "fw_ver"));
  const std::string parent = link_name(folder / "device");
  if (is_pci_address(parent)) nic.set_pci_address(parent);
  nic.set_driver(link_name(folder / "device/driver"));
  // soft-RoCE has no parent device; its uverbs node is the only thing that names the driver, by
  // name.
  if (parent.empty() && nic.device().starts_with("rxe")) nic.set_driver("rdma_rxe");
  nic.set_numa_node_plus_one(numa_node_plus_one(folder / "device"));
}

void fill_port(const fs::path& folder, api::Nic& nic) {
  nic.set_state(parse_state(line_of(folder / "state")));
  nic.set_link_layer(lower(line_of(folder / "link_layer")));
  nic.set_rate_bits_per_second(parse_rate(line_of(folder / "rate")));
  nic.set_netdev(line_of(folder / "gid_attrs/ndevs/0"));
}

// "model name : AMD EPYC ..." of the first processor; aarch64 has none.
std::string cpu_model(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  constexpr int kLinesOfOneProcessor = 64;
  std::string line;
  for (int i = 0; i < kLinesOfOneProcessor && std::getline(file, line); ++i)
    if (line.starts_with("model name")) {
      const auto colon = line.find(": ");
      return colon == std::string::npos ? "" : valid_utf8(line.substr(colon + 2));
    }
  return "";
}

// rdma-core stamps its release on libibverbs: libibverbs.so.1.14.44.0 is rdma-core 44.0.
std::string rdma_core_version(const std::string& root) {
  constexpr std::array kFolders{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                "/usr/lib64", "/usr/lib"};
  constexpr std::string_view kPrefix = "libibverbs.so.1.";
  for (const char* folder : kFolders) {
    const std::string target = link_name(root + folder + "/libibverbs.so.1");
    if (!target.starts_with(kPrefix)) continue;
    const auto dot = target.find('.', kPrefix.size());
    if (dot != std::string::npos) return target.substr(dot + 1);
  }
  return "";
}
}  // namespace

double parse_rate(const std::string& text) {
  double gigabits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  if (error != std::errc() || gigabits < 0) return 0;
  const bool known = std::string_view(end, text.data() + text.size()).starts_with(" Gb/sec");
  return known ? gigabits * 1e9 : 0;
}

std::vector<api::Nic> list_nics(const std::string& sysfs) {
  const fs::path devices = sysfs + "/class/infiniband";
  std::vector<api::Nic> nics;
  for (const std::string& device : names_in(devices, kMaxNicPorts)) {
    const fs::path ports = devices / device / "ports";
    for (const std::string& name : names_in(ports, kMaxNicPorts)) {
      std::uint32_t port = 0;
      std::from_chars(name.data(), name.data() + name.size(), port);
      if (port == 0 || nics.size() == kMaxNicPorts) continue;
      api::Nic& nic = nics.emplace_back();
      nic.set_device(valid_utf8(device));
      nic.set_port(port);
      fill_device(devices / device, nic);
      fill_port(ports / name, nic);
    }
  }
  return nics;
}

std::map<std::string, std::string> node_facts(const std::string& root) {
  std::map<std::string, std::string> facts;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) facts.emplace(name, std::move(value));
  };
  add("linux_kernel", line_of(root + "/proc/sys/kernel/osrelease"));
  add("cpu", cpu_model(root));
  add("rdma_core", rdma_core_version(root));
  add("gpu_driver", line_of(root + "/sys/module/nvidia/version"));
  return facts;
}

}  // namespace railgauge::agent

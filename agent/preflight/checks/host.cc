// The host: power saving, device files, the BAR-copy driver.
#include <algorithm>

#include <fmt/ranges.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

constexpr const char* kUverbs = "/dev/infiniband/";
constexpr const char* kConnectionManager = "/dev/infiniband/rdma_cm";
constexpr const char* kGdrdrv = "/dev/gdrdrv";

// Idle states with a long wake-up time: all except polling and C1. A state that Linux does not
// report as disabled counts as enabled.
std::vector<std::string> deep_states(const CpuFacts& cpu) {
  std::vector<std::string> deep;
  for (const auto& [name, fact] : cpu.idle_states.value_or({})) {
    const bool shallow = name.find("POLL") != std::string::npos || name == "C1" ||
                         name.starts_with("C1_") || name == "WFI" || name.find("LPI-0") == 0;
    // Where Linux has no switch for it, or does not report it, it is on.
    if (!shallow && !fact.is("disabled")) deep.push_back(name);
  }
  return deep;
}

// "; SMT is on" or "; SMT is off"; "" if it is not known.
std::string smt_text(const CpuFacts& cpu) {
  if (!cpu.smt_active.is_known()) return "";
  return cpu.smt_active.value ? "; SMT is on" : "; SMT is off";
}

// Whether a device file opens. Absent if its folder was read and does not have it.
Fact<bool> can_open(const Inventory& node, const std::string& path) {
  if (const auto found = node.device_nodes.find(path); found != node.device_nodes.end())
    return found->second.can_open;
  const auto folder = node.device_nodes.find("/dev/infiniband");
  if (folder != node.device_nodes.end()) return folder->second.can_open;
  return node.device_nodes.empty() ? Fact<bool>::unknown(path, "") : Fact<bool>::absent(path);
}

// A device file must exist and open for the agent's user. `lacking` is the state if it does not.
CheckResult judge_device_file(const Inventory& node, const std::string& subject,
                              const std::string& path, const ResultOf& lacking) {
  const Fact<bool> open = can_open(node, path);
  const std::vector<std::string> remedy{
      fmt::format("ls -l {}; modprobe -a ib_uverbs rdma_ucm", path),
      "# in a pod: give it the RDMA resource of its NIC (rdma/NAME)"};
  if (open.is_absent()) return lacking(subject, path + " is not there", path, remedy);
  if (!open.is_known()) return not_known(subject, "whether " + path + " opens", open);
  if (open.value) return passed(subject, path + " opens", path);
  return lacking(
      subject,
      fmt::format("{} does not open{}{}", path, open.reason.empty() ? "" : ": ", open.reason), path,
      {fmt::format("chmod 0666 {}  # where its mode refuses", path),
       fmt::format("# where a control group does: DeviceAllow={} rw in the unit; in a pod the RDMA "
                   "resource of its NIC (rdma/NAME)",
                   path),
       "# to last: echo 'KERNEL==\"uverbs*\", MODE=\"0666\"' > "
       "/etc/udev/rules.d/90-uverbs.rules"});
}

}  // namespace

// Frequency governors other than performance, and deep idle states, add latency and noise.
CheckResults judge_cpu_power(const CheckInput& input) {
  const CpuFacts& cpu = input.node.cpu;
  if (cpu.governors.is_absent())
    return {waived("", "Linux does not choose the processors' clock here" + smt_text(cpu),
                   cpu.governors)};
  if (!cpu.governors.is_known()) return {not_known("", "the CPU governor", cpu.governors)};
  std::vector<std::string> seen;
  bool performance = true;
  for (const auto& [name, count] : cpu.governors.value) {
    seen.push_back(fmt::format("{} on {}", name, count));
    performance = performance && name == "performance";
  }
  std::string text = fmt::format("{}", fmt::join(seen, ", "));
  std::vector<std::string> remedy;
  if (!performance) remedy.emplace_back("cpupower frequency-set -g performance");
  const std::vector<std::string> deep = deep_states(cpu);
  if (!deep.empty()) {
    text += fmt::format("; idle states {} are on", fmt::join(deep, " "));
    remedy.emplace_back("cpupower idle-set -D 10  # for latency; until the next boot");
  }
  text += smt_text(cpu);
  if (remedy.empty() && cpu.idle_states.is_open())
    return {not_known("", "which idle states are on", cpu.idle_states)};
  return {(remedy.empty() ? passed : warned)("", std::move(text), cpu.governors.source,
                                             std::move(remedy))};
}

// Each RDMA device needs its uverbs file, and the connection manager its rdma_cm file.
CheckResults judge_rdma_device_nodes(const CheckInput& input) {
  const Inventory& node = input.node;
  CheckResults results;
  for (const RdmaDevice& device : node.rdma) {
    if (!device.uverbs.is_known()) {
      results.push_back(device.uverbs.is_absent()
                            ? failed(device.name,
                                     "no user program can reach it: ib_uverbs is not loaded",
                                     device.uverbs, {"modprobe ib_uverbs"})
                            : not_known(device.name, "its device file", device.uverbs));
      continue;
    }
    results.push_back(judge_device_file(node, device.name, kUverbs + device.uverbs.value, failed));
  }
  if (results.empty() && node.rdma_netns_mode.is("exclusive"))
    return {
        unknown("",
                "no RDMA device is in this network namespace; each is in one alone here, so the "
                "machine may have some in others",
                node.rdma_netns_mode,
                {"# from the machine's own namespace: rdma dev; rdma dev set DEVICE netns PID",
                 "# in a pod: give it the RDMA resource of its NIC (rdma/NAME)"})};
  if (results.empty()) return no_rdma(node);
  results.push_back(judge_device_file(node, "rdma_cm", kConnectionManager, warned));
  return results;
}

// GDRCopy's driver gdrdrv: optional, but if it is loaded, its device file must open.
CheckResults judge_bar_copy_driver(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  if (!node.loaded_modules.is_known())
    return {not_known("", "the list of loaded modules", node.loaded_modules)};
  if (!node.is_loaded("gdrdrv"))
    return {waived("", "gdrdrv is not loaded: BAR copies go other ways", "/proc/modules",
                   {"# GDRCopy's driver, for the running kernel: its package gdrdrv-dkms, then",
                    "modprobe gdrdrv"})};
  const ModuleFacts* module = node.module("gdrdrv");
  const Fact<bool> open = can_open(node, kGdrdrv);
  const std::string version = module == nullptr ? "" : module->version.value_or("");
  if (open.is_absent())
    return {
        failed("", fmt::format("gdrdrv {} is loaded, {} is not there", version, kGdrdrv), kGdrdrv,
               {"mknod -m 666 /dev/gdrdrv c $(awk '$2==\"gdrdrv\"{print $1}' /proc/devices) 0"})};
  if (!open.is_known()) return {not_known("", "whether /dev/gdrdrv opens", open)};
  if (!open.value)
    return {failed(
        "",
        fmt::format("/dev/gdrdrv does not open{}{}", open.reason.empty() ? "" : ": ", open.reason),
        kGdrdrv, {"chmod 0666 /dev/gdrdrv"})};
  return {passed("", fmt::format("gdrdrv {} is loaded and opens", version), kGdrdrv)};
}

}  // namespace railgauge::agent

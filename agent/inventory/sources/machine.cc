// The machine: NUMA nodes, processors, memory, firmware; Linux's command line and permissions.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "agent/inventory/sources/rdma_system.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

// Enough for thousands of processors.
constexpr std::size_t kMostCpuInfoBytes = 16U << 20U;
constexpr std::uint64_t kKibi = 1024;

// The number in "node12"; nothing for "possible".
std::optional<std::uint32_t> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = number_in(name.substr(prefix.size()));
  if (!number || *number >= kMostNames) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

// "Key:  12345 kB" lines.
std::map<std::string, std::uint64_t> read_kilobytes(const Fact<std::string>& text) {
  std::map<std::string, std::uint64_t> values;
  for (const std::string_view line : lines_in(text.value)) {
    const auto halves = split_at(line, ':');
    if (!halves) continue;
    const auto fields = fields_of(halves->second, 2);
    const std::uint64_t unit = fields.size() > 1 && fields[1] == "kB" ? kKibi : 1;
    const std::uint64_t number =
        fields.empty() ? kUnlimited : number_in(fields[0]).value_or(kUnlimited);
    if (number < kUnlimited / unit) values[std::string(halves->first)] = number * unit;
  }
  return values;
}

// The values of /proc/cpuinfo that matter.
struct CpuInfo {
  std::string model, vendor, microcode, flags;
  std::uint32_t processors = 0;
  std::set<std::string> sockets;
  bool is_arm = false;
};

void take_cpu_line(std::string_view line, CpuInfo& cpu) {
  const auto halves = split_at(line, ':');
  if (!halves) return;
  const std::string_view key = halves->first;
  const std::string value = valid_utf8(halves->second);
  if (key == "processor") ++cpu.processors;
  if (key == "physical id") cpu.sockets.insert(value);
  if (key == "model name" && cpu.model.empty()) cpu.model = value;
  if (key == "vendor_id" && cpu.vendor.empty()) cpu.vendor = value;
  if (key == "CPU implementer" && cpu.vendor.empty()) cpu.vendor = value == "0x41" ? "ARM" : value;
  if (key == "CPU implementer") cpu.is_arm = true;
  if (key == "CPU part" && cpu.model.empty()) cpu.model = "ARM part " + value;
  if (key == "microcode" && cpu.microcode.empty()) cpu.microcode = value;
  if ((key == "flags" || key == "Features") && cpu.flags.empty()) cpu.flags = value;
}

// Counts the processors by scaling_governor.
Fact<std::map<std::string, std::uint32_t>> read_governors(const NodeFiles& files) {
  const std::string folder = "/sys/devices/system/cpu";
  Fact<std::map<std::string, std::uint32_t>> governors =
      Fact<std::map<std::string, std::uint32_t>>::absent(folder + "/cpu0/cpufreq/scaling_governor");
  const NameList names = files.list(folder);
  FactInfo told = names;
  for (const std::string& name : names.value) {
    if (!number_after(name, "cpu")) continue;
    // A processor that is switched off reports no governor and is skipped.
    if (files.line(fmt::format("{}/{}/online", folder, name)).is("0")) continue;
    const auto governor = files.line(fmt::format("{}/{}/cpufreq/scaling_governor", folder, name));
    told.spoil_by(governor);
    if (!governor.is_known()) continue;
    ++governors.value[governor.value];
    governors.state = FactState::kKnown;
  }
  governors.spoil_by(told);
  return governors;
}

// The idle states of cpu0 and whether each is disabled.
Fact<Facts> read_idle_states(const NodeFiles& files) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpuidle";
  Fact<Facts> states = Fact<Facts>::absent(folder);
  const NameList names = files.list(folder);
  FactInfo told = names;
  for (const std::string& name : names.value) {
    if (!name.starts_with("state")) continue;
    const Fact<std::string> title = files.line(fmt::format("{}/{}/name", folder, name));
    told.spoil_by(title);
    if (!title.is_known()) continue;
    states.value[title.value] =
        files.line(fmt::format("{}/{}/disable", folder, name)).as([](const std::string& disabled) {
          return std::string(disabled == "0" ? "enabled" : "disabled");
        });
    states.state = FactState::kKnown;
  }
  states.spoil_by(told);
  return states;
}

// "0" or "1" as a flag.
Fact<bool> flag_of(const Fact<std::string>& text) {
  return text.as([](const std::string& value) { return value != "0" && !value.empty(); });
}

// The choice of "always [madvise] never".
std::optional<std::string> marked_choice(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', std::min(open, text.size()));
  if (close == std::string::npos) return std::nullopt;
  return text.substr(open + 1, close - open - 1);
}

// Returns the board name that shows a hypervisor, or nullptr. EC2's bare machines have that name
// too, but a model like "m7g.metal".
const Fact<std::string>* virtual_board(const Facts& dmi) {
  constexpr std::array<std::string_view, 13> kNames{
      "QEMU",      "KVM",      "VMware",  "Xen",        "VirtualBox", "Microsoft", "Google",
      "OpenStack", "KubeVirt", "Hyper-V", "Amazon EC2", "Bochs",      "BHYVE"};
  const auto model = dmi.find("product_name");
  if (model != dmi.end() && model->second.value.find(".metal") != std::string::npos) return nullptr;
  for (const char* key : {"sys_vendor", "product_name"})
    if (const auto found = dmi.find(key); found != dmi.end())
      for (const std::string_view name : kNames)
        if (found->second.value.find(name) != std::string::npos) return &found->second;
  return nullptr;
}

// Whether this is a virtual machine, by an x86 CPU's flag or by the board's names. ARM has no such
// flag: there only a board with a name is known to be physical.
Fact<bool> machine_is_virtual(const CpuInfo& cpu, const Facts& dmi) {
  const std::string flags = " " + cpu.flags + " ";
  if (flags.find(" hypervisor ") != std::string::npos)
    return Fact<bool>::known(true, "/proc/cpuinfo");
  if (const Fact<std::string>* board = virtual_board(dmi); board != nullptr)
    return Fact<bool>::known(true, board->source);
  if (cpu.flags.empty()) return Fact<bool>::unknown("/proc/cpuinfo", "/proc/cpuinfo: has no flags");
  const auto vendor = dmi.find("sys_vendor");
  if (cpu.is_arm && (vendor == dmi.end() || !vendor->second.is_known()))
    return Fact<bool>::unknown(
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/sys_vendor: not readable, and an ARM CPU's flags do "
        "not name a hypervisor");
  return Fact<bool>::known(false, cpu.is_arm ? vendor->second.source : "/proc/cpuinfo");
}

}  // namespace

Apply read_numa(const NodeFiles& files) {
  std::vector<NumaNode> nodes;
  for (const std::string& name : files.names("/sys/devices/system/node"))
    if (const auto number = number_after(name, "node")) nodes.push_back({.number = *number});
  std::ranges::sort(nodes, {}, &NumaNode::number);
  return [nodes](Inventory& inventory) { inventory.numa = nodes; };
}

// Governors, idle states and SMT.
Apply read_cpu(const NodeFiles& files) {
  const std::string folder = "/sys/devices/system/cpu";
  const CpuPower power{.governors = read_governors(files),
                       .idle_driver = files.line(folder + "/cpuidle/current_driver"),
                       .idle_states = read_idle_states(files),
                       .smt_active = flag_of(files.line(folder + "/smt/active"))};
  return [power](Inventory& inventory) { static_cast<CpuPower&>(inventory.cpu) = power; };
}

// The machine's DMI names, processors and memory.
Apply read_machine(const NodeFiles& files) {
  constexpr std::array kDmi{"sys_vendor", "product_name",  "product_version", "board_vendor",
                            "board_name", "board_version", "bios_vendor",     "bios_version",
                            "bios_date",  "bios_release",  "chassis_vendor"};
  Facts dmi;
  for (const char* name : kDmi) dmi[name] = files.line(std::string("/sys/class/dmi/id/") + name);
  CpuInfo info;
  const Fact<bool> read =
      files.lines("/proc/cpuinfo", kMostCpuInfoBytes, [&](std::string_view line) {
        take_cpu_line(line, info);
        return true;
      });
  const Fact<std::string> memory = files.text("/proc/meminfo");
  auto values = read_kilobytes(memory);
  const auto size = [&](const char* key) {
    return values.contains(key) ? Fact<std::uint64_t>::known(values[key], memory.source)
                                : or_absent<std::uint64_t>(memory, 0);
  };
  const MemorySizes sizes{.memory_bytes = size("MemTotal"),
                          .huge_pages_free = size("HugePages_Free"),
                          .huge_page_bytes = size("Hugepagesize")};
  return [=](Inventory& inventory) {
    inventory.dmi = dmi;
    inventory.cpu.model = or_absent(read, info.model);
    inventory.cpu.vendor = or_absent(read, info.vendor);
    inventory.cpu.microcode = or_absent(read, info.microcode);
    inventory.cpu.processors = {read, info.processors};
    inventory.cpu.sockets = or_absent(read, static_cast<std::uint32_t>(info.sockets.size()));
    inventory.is_virtual_machine = machine_is_virtual(info, dmi);
    static_cast<MemorySizes&>(inventory) = sizes;
  };
}

// Release, command line and settings of Linux.
Apply read_linux(const NodeFiles& files) {
  LinuxFacts read;
  read.kernel_release = files.line("/proc/sys/kernel/osrelease");
  read.kernel_command_line = files.line("/proc/cmdline");
  read.numa_balancing = flag_of(files.line("/proc/sys/kernel/numa_balancing"));
  read.iommus = files.list("/sys/class/iommu");
  if (read.iommus.is_known() && read.iommus.value.empty())
    read.iommus = NameList::absent("/sys/class/iommu");
  const std::string pages = "/sys/kernel/mm/transparent_hugepage/enabled";
  read.transparent_huge_pages = parsed(files.line(pages), "list of choices", marked_choice);
  read.rdma_netns_mode =
      files.is_this_machine()
          ? read_rdma_netns_mode()
          : Fact<std::string>::unknown(
                "netlink", "RDMA namespaces: only netlink reports their mode (rdma system show)");
  return put(std::move(read));
}

}  // namespace railgauge::agent

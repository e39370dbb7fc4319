// The machine: NUMA nodes, processors, memory, firmware; Linux's command line and permissions.
#include <algorithm>
#include <array>

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

// The number in "node12"; false for "possible".
bool number_behind(const std::string& name, std::string_view prefix, std::uint32_t& number) {
  std::uint64_t wide = 0;
  if (!name.starts_with(prefix) ||
      !parse_number(std::string_view(name).substr(prefix.size()), wide))
    return false;
  number = static_cast<std::uint32_t>(wide);
  return wide < kMostNames;
}

// "Key:  12345 kB" lines.
std::map<std::string, std::uint64_t> read_kilobytes(const Fact<std::string>& text) {
  std::map<std::string, std::uint64_t> values;
  std::string_view rest = text.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto fields = fields_of(line.substr(colon + 1), 2);
    std::uint64_t number = 0;
    if (fields.empty() || !parse_number(fields[0], number)) continue;
    const std::uint64_t unit = fields.size() > 1 && fields[1] == "kB" ? kKibi : 1;
    if (number > kUnlimited / unit) continue;
    values[std::string(line.substr(0, colon))] = number * unit;
  }
  return values;
}

Fact<std::uint64_t> value_of(const std::map<std::string, std::uint64_t>& values, const char* key,
                             const Fact<std::string>& text) {
  if (!text.is_known()) return text.without_value<std::uint64_t>();
  const auto found = values.find(key);
  return found == values.end() ? Fact<std::uint64_t>::absent(text.source)
                               : Fact<std::uint64_t>::known(found->second, text.source);
}

// The values of /proc/cpuinfo that matter.
struct CpuInfo {
  std::string model, vendor, microcode, flags;
  std::uint32_t processors = 0;
  std::set<std::string> sockets;
  bool is_arm = false;
};

void take_cpu_line(std::string_view line, CpuInfo& cpu) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view key = trimmed(line.substr(0, colon));
  const std::string value = valid_utf8(trimmed(line.substr(colon + 1)));
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

// A value from a file that was read; absent if the file has none.
Fact<std::string> text_or_absent(const Fact<bool>& read, const std::string& value) {
  if (!read.is_known() || value.empty())
    return read.is_known() ? Fact<std::string>::absent(read.source)
                           : read.without_value<std::string>();
  return Fact<std::string>::known(value, read.source);
}

// Counts the processors by scaling_governor.
Fact<std::map<std::string, std::uint32_t>> read_governors(const NodeFiles& files) {
  const std::string folder = "/sys/devices/system/cpu";
  Fact<std::map<std::string, std::uint32_t>> governors =
      Fact<std::map<std::string, std::uint32_t>>::absent(folder + "/cpu0/cpufreq/scaling_governor");
  std::uint32_t number = 0;
  const NameList names = files.list(folder);
  Fact<bool> told = Fact<bool>::known(true, folder);
  told.spoil_by(names);
  for (const std::string& name : names.value) {
    if (!number_behind(name, "cpu", number)) continue;
    // Linux does not report it for a processor that is switched off, and nobody waits for its
    // clock.
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
  Fact<bool> told = Fact<bool>::known(true, folder);
  told.spoil_by(names);
  for (const std::string& name : names.value) {
    if (!name.starts_with("state")) continue;
    const Fact<std::string> title = files.line(fmt::format("{}/{}/name", folder, name));
    Fact<std::string> disabled = files.line(fmt::format("{}/{}/disable", folder, name));
    told.spoil_by(title);
    if (!title.is_known()) continue;
    if (disabled.is_known()) disabled.value = disabled.value == "0" ? "enabled" : "disabled";
    states.value[title.value] = disabled;
    states.state = FactState::kKnown;
  }
  states.spoil_by(told);
  return states;
}

// "0" or "1" as a flag.
Fact<bool> flag_of(const Fact<std::string>& text) {
  Fact<bool> flag = text.without_value<bool>();
  flag.value = text.value != "0" && !text.value.empty();
  return flag;
}

// The name that a hypervisor gives the board; nullptr: none is known. EC2's bare machines have its
// name too, and say so in the model ("m7g.metal").
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

// A hypervisor shows itself in an x86 CPU's flags, or in the names that it gives the board. ARM has
// no such flag: there only a board with a name is known to be none's.
Fact<bool> machine_is_virtual(const CpuInfo& cpu, const Facts& dmi) {
  const std::string flags = " " + cpu.flags + " ";
  if (flags.find(" hypervisor ") != std::string::npos)
    return Fact<bool>::known(true, "/proc/cpuinfo");
  if (const Fact<std::string>* board = virtual_board(dmi); board != nullptr)
    return Fact<bool>::known(true, board->source);
  if (cpu.flags.empty())
    return Fact<bool>::unknown("/proc/cpuinfo", "/proc/cpuinfo: tells no flags");
  const auto vendor = dmi.find("sys_vendor");
  if (cpu.is_arm && (vendor == dmi.end() || !vendor->second.is_known()))
    return Fact<bool>::unknown("/sys/class/dmi/id/sys_vendor",
                               "/sys/class/dmi/id/sys_vendor: not told, and an ARM CPU's flags do "
                               "not name a hypervisor");
  return Fact<bool>::known(false, cpu.is_arm ? vendor->second.source : "/proc/cpuinfo");
}

}  // namespace

// NUMA nodes with their processors, memory and distances.
Apply read_numa(const NodeFiles& files) {
  std::vector<NumaNode> nodes;
  for (const std::string& name : files.names("/sys/devices/system/node")) {
    NumaNode node;
    if (!number_behind(name, "node", node.number)) continue;
    const std::string folder = "/sys/devices/system/node/" + name;
    node.cpus = files.line(folder + "/cpulist");
    const Fact<std::string> text = files.text(folder + "/meminfo");
    node.memory_bytes = text.without_value<std::uint64_t>();
    if (const std::size_t at = text.value.find("MemTotal:"); at != std::string::npos) {
      const auto fields = fields_of(std::string_view(text.value).substr(at), 2);
      std::uint64_t kilobytes = 0;
      if (fields.size() == 2 && parse_number(fields[1], kilobytes) &&
          kilobytes < kUnlimited / kKibi)
        node.memory_bytes.value = kilobytes * kKibi;
    }
    const Fact<std::string> distances = files.line(folder + "/distance");
    node.distances = distances.without_value<std::vector<std::uint32_t>>();
    for (const std::string_view field : fields_of(distances.value, kMostNames)) {
      std::uint64_t distance = 0;
      if (parse_number(field, distance))
        node.distances.value.push_back(static_cast<std::uint32_t>(distance));
    }
    nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &NumaNode::number);
  return [nodes](Inventory& inventory) { inventory.numa = nodes; };
}

// Governors, idle states, SMT and the number of sockets.
Apply read_cpu(const NodeFiles& files) {
  const std::string folder = "/sys/devices/system/cpu";
  CpuFacts cpu;
  cpu.governors = read_governors(files);
  cpu.idle_driver = files.line(folder + "/cpuidle/current_driver");
  cpu.idle_states = read_idle_states(files);
  cpu.smt_active = flag_of(files.line(folder + "/smt/active"));
  return [cpu](Inventory& inventory) {
    inventory.cpu.governors = cpu.governors;
    inventory.cpu.idle_driver = cpu.idle_driver;
    inventory.cpu.idle_states = cpu.idle_states;
    inventory.cpu.smt_active = cpu.smt_active;
  };
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
  const auto values = read_kilobytes(memory);
  return [=](Inventory& inventory) {
    inventory.dmi = dmi;
    inventory.cpu.model = text_or_absent(read, info.model);
    inventory.cpu.vendor = text_or_absent(read, info.vendor);
    inventory.cpu.microcode = text_or_absent(read, info.microcode);
    inventory.cpu.processors = read.without_value<std::uint32_t>();
    inventory.cpu.processors.value = info.processors;
    inventory.cpu.sockets = read.without_value<std::uint32_t>();
    inventory.cpu.sockets.value = static_cast<std::uint32_t>(info.sockets.size());
    if (info.sockets.empty() && read.is_known()) inventory.cpu.sockets.state = FactState::kAbsent;
    inventory.is_virtual_machine = machine_is_virtual(info, dmi);
    inventory.memory_bytes = value_of(values, "MemTotal", memory);
    inventory.huge_pages_free = value_of(values, "HugePages_Free", memory);
    inventory.huge_page_bytes = value_of(values, "Hugepagesize", memory);
  };
}

// Release, command line, boot id and settings of Linux.
Apply read_linux(const NodeFiles& files) {
  Inventory read;
  read.kernel_release = files.line("/proc/sys/kernel/osrelease");
  read.kernel_command_line = files.line("/proc/cmdline");
  read.boot_id = files.line("/proc/sys/kernel/random/boot_id");
  read.numa_balancing = flag_of(files.line("/proc/sys/kernel/numa_balancing"));
  read.iommus = files.list("/sys/class/iommu");
  if (read.iommus.is_known() && read.iommus.value.empty())
    read.iommus = NameList::absent("/sys/class/iommu");
  // "always [madvise] never"
  Fact<std::string> pages = files.line("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = pages.value.find('[');
  const std::size_t close = pages.value.find(']', std::min(open, pages.value.size()));
  if (pages.is_known() && close == std::string::npos)
    pages = Fact<std::string>::error(pages.source, pages.source + ": no choice is marked");
  else if (pages.is_known())
    pages.value = pages.value.substr(open + 1, close - open - 1);
  read.rdma_netns_mode =
      files.is_this_machine()
          ? read_rdma_netns_mode()
          : Fact<std::string>::unknown(
                "netlink", "RDMA namespaces: only netlink tells their mode (rdma system show)");
  return [=](Inventory& inventory) {
    inventory.kernel_release = read.kernel_release;
    inventory.kernel_command_line = read.kernel_command_line;
    inventory.boot_id = read.boot_id;
    inventory.numa_balancing = read.numa_balancing;
    inventory.iommus = read.iommus;
    inventory.transparent_huge_pages = pages;
    inventory.rdma_netns_mode = read.rdma_netns_mode;
  };
}

}  // namespace railgauge::agent

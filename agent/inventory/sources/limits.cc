// The system's limits for this process: locked memory, and its control group (version 1 or 2).
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "agent/inventory/facts/rdma_handles.h"
#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr unsigned kCapIpcLock = 14;  // linux/capability.h
constexpr std::size_t kMostLevels = 64;
constexpr const char* kGroups = "/sys/fs/cgroup";
// Version 1 reports "no limit" as the largest number of whole pages, whatever the page size.
constexpr std::uint64_t kNoLimitOfOld = std::uint64_t{1} << 62U;

// Parses a number, "max" or "unlimited"; absent for other words.
std::optional<std::uint64_t> limit_in(std::string_view text) {
  return text == "max" || text == "unlimited" ? kUnlimited : number_in(text);
}

// Returns field number `place` of the line that begins with `key`, or "".
std::string field_of(const std::string& text, std::string_view key, std::size_t place) {
  for (const std::string_view line : lines_in(text))
    if (const auto fields = fields_of(line); line.starts_with(key) && place < fields.size())
      return std::string(fields[place]);
  return "";
}

// "Max locked memory  SOFT  HARD  bytes".
Fact<std::uint64_t> read_memlock(const NodeFiles& files) {
  constexpr std::size_t kSoft = 3;
  const Fact<std::string> soft = files.text("/proc/self/limits").as([](const std::string& text) {
    const bool has_both = !field_of(text, "Max locked memory", kSoft + 1).empty();
    return has_both ? field_of(text, "Max locked memory", kSoft) : "";
  });
  if (soft.is(""))
    return Fact<std::uint64_t>::error(soft.source, soft.source + ": no line of locked memory");
  return parsed(soft, "limit", limit_in);
}

// Whether CAP_IPC_LOCK is in the effective set (CapEff) of /proc/self/status.
Fact<bool> read_cap_ipc_lock(const NodeFiles& files) {
  const Fact<std::string> text = files.text("/proc/self/status");
  const auto bits = number_in("0x" + field_of(text.value, "CapEff:", 1));
  if (text.is_known() && !bits)
    return Fact<bool>::error(text.source, text.source + ": reports no capabilities");
  return {text, bits && (*bits >> kCapIpcLock & 1U) != 0};
}

// Where a controller's files are, and of which generation.
struct Group {
  std::string mount{};
  std::string folder{};  // below it, or itself
  bool is_old = false;
};

// Finds the group's folder. A container often sees its own group as the root of the mount, while
// /proc has the machine's name of the group.
Group group_at(const NodeFiles& files, const std::string& mount, std::string_view path,
               bool is_old) {
  const bool is_below = path.find("..") == std::string_view::npos && path != "/";
  const std::string folder = mount + (is_below ? std::string(path) : std::string());
  return {.mount = mount, .folder = files.exists(folder) ? folder : mount, .is_old = is_old};
}

// Lines "HIERARCHY:CONTROLLERS:PATH"; "0::PATH" is version 2, which has what no other line names.
Group group_of(const NodeFiles& files, std::string_view text, std::string_view controller) {
  Group group{.mount = kGroups, .folder = kGroups, .is_old = false};
  for (const std::string_view line : lines_in(text)) {
    const std::size_t names = line.find(':');
    const std::size_t path = names == line.npos ? names : line.find(':', names + 1);
    if (path == line.npos) continue;
    const std::string_view controllers = line.substr(names + 1, path - names - 1);
    if (fmt::format(",{},", controllers).find(fmt::format(",{},", controller)) != line.npos)
      return group_at(files, fmt::format("{}/{}", kGroups, controller), line.substr(path + 1),
                      true);
    if (controllers.empty()) group = group_at(files, kGroups, line.substr(path + 1), false);
  }
  return group;
}

// Returns the folders from the group up to the mount: limits of the upper ones bind too.
std::vector<std::string> upwards(const Group& group) {
  std::vector<std::string> folders{group.folder};
  while (folders.back().size() > group.mount.size() && folders.size() < kMostLevels)
    folders.push_back(folders.back().substr(0, folders.back().rfind('/')));
  return folders;
}

// The nearest folder upwards that has the file; the group's own where none has.
std::string nearest_with(const NodeFiles& files, const Group& group, const char* name) {
  for (const std::string& folder : upwards(group))
    if (files.exists(folder + "/" + name)) return folder + "/" + name;
  return group.folder + "/" + name;
}

// The tightest one; an unreadable limit precedes a readable one.
void read_group_memory(const NodeFiles& files, const std::string& groups, MemoryLimits& limits) {
  const Group group = group_of(files, groups, "memory");
  const std::string most_name = group.is_old ? "/memory.limit_in_bytes" : "/memory.max";
  const std::string now_name = group.is_old ? "/memory.usage_in_bytes" : "/memory.current";
  Fact<std::uint64_t>& most = limits.cgroup_memory_max_bytes;
  most = Fact<std::uint64_t>::absent(group.folder + most_name);
  for (const std::string& folder : upwards(group)) {
    Fact<std::uint64_t> limit = parsed(files.line(folder + most_name), "limit", limit_in);
    if (limit.is_absent() || (most.is_known() && limit.is_known() && limit.value >= most.value))
      continue;
    most = std::move(limit);
    limits.cgroup_memory_now_bytes = files.number(folder + now_name);
    if (!most.is_known()) return;
  }
  if (group.is_old && most.is_known() && most.value >= kNoLimitOfOld) most.value = kUnlimited;
}

// The processors of cpuset.cpus.effective, or of the older cpuset hierarchy.
void read_group_processors(const NodeFiles& files, const std::string& groups,
                           MemoryLimits& limits) {
  const Group group = group_of(files, groups, "cpuset");
  limits.cgroup_cpus = files.line(
      nearest_with(files, group, group.is_old ? "cpuset.effective_cpus" : "cpuset.cpus.effective"));
}

// "mlx5_0 hca_handle=2 hca_object=2000" a line.
void take_rdma_lines(const Fact<std::string>& text, Facts& out) {
  for (const std::string_view line : lines_in(text.value))
    if (const auto halves = split_at(line, ' '))
      out[std::string(halves->first)] =
          Fact<std::string>::known(std::string(halves->second), text.source);
}

// Reads the tightest level for each device, since all levels bind.
void read_group_rdma(const NodeFiles& files, const std::string& groups, MemoryLimits& limits) {
  const Group group = group_of(files, groups, "rdma");
  limits.cgroup_rdma_told = Fact<bool>::absent(group.folder + "/rdma.max");
  for (const std::string& folder : upwards(group)) {
    const Fact<std::string> most = files.text(folder + "/rdma.max");
    const Fact<std::string> now = files.text(folder + "/rdma.current");
    if (most.is_absent()) continue;
    if (limits.cgroup_rdma_told.is_absent()) limits.cgroup_rdma_told = most.without_value<bool>();
    limits.cgroup_rdma_told.spoil_by(most);
    if (most.is_known()) limits.cgroup_rdma_told.spoil_by(now);
    Facts most_here;
    Facts now_here;
    take_rdma_lines(most, most_here);
    take_rdma_lines(now, now_here);
    for (const auto& [device, limit] : most_here) {
      const Fact<std::string>& used = now_here[device];
      const auto before = limits.cgroup_rdma_max.find(device);
      if (before != limits.cgroup_rdma_max.end() &&
          rdma_handles_left(before->second.value, limits.cgroup_rdma_now[device].value) <=
              rdma_handles_left(limit.value, used.value))
        continue;
      limits.cgroup_rdma_max[device] = limit;
      limits.cgroup_rdma_now[device] = used;
    }
  }
}

}  // namespace

// Reads the limits of the agent's own process and control groups, of both cgroup versions.
Apply read_limits(const NodeFiles& files) {
  MemoryLimits limits;
  limits.memlock_soft_bytes = read_memlock(files);
  limits.cap_ipc_lock = read_cap_ipc_lock(files);
  Fact<std::string> groups = files.text("/proc/self/cgroup");
  // A kernel without control groups has no limit; without /proc of the process nothing is known.
  const bool has_mount = files.exists(kGroups);
  const bool has_none = groups.is_absent() && !has_mount && files.exists("/proc/self/status");
  if (groups.is_absent() && !has_none)
    groups = Fact<std::string>::unknown(groups.source, groups.source + ": not there");
  if (groups.is_known() && !has_mount)
    groups = Fact<std::string>::unknown(kGroups, std::string(kGroups) + ": not there");
  if (groups.is_known() || has_none) {
    read_group_memory(files, groups.value, limits);
    read_group_processors(files, groups.value, limits);
    read_group_rdma(files, groups.value, limits);
  } else {
    limits.cgroup_memory_max_bytes = groups.without_value<std::uint64_t>();
    limits.cgroup_cpus = groups.without_value<std::string>();
    limits.cgroup_rdma_told = groups.without_value<bool>();
  }
  return [limits](Inventory& inventory) { inventory.limits = limits; };
}

}  // namespace railgauge::agent

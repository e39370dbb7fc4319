#include "kernels/memory/numa.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr int kMaxCpus = 8192;  // as Linux can be built for
constexpr int kMaxNodes = 1024;
constexpr int kBitsPerWord = 8 * sizeof(unsigned long);
constexpr int kMaxListed = kMaxCpus;

// A bit for each CPU or node, as the kernel's calls take them.
using Mask = std::vector<unsigned long>;

Mask empty_mask(int bits) { return Mask(static_cast<std::size_t>(bits / kBitsPerWord)); }
void set_bit(Mask& mask, int bit) {
  mask[static_cast<std::size_t>(bit / kBitsPerWord)] |= 1UL << unsigned(bit % kBitsPerWord);
}

// Binds the calling thread (pid 0). Returns 0, or -1 with errno.
long set_affinity(const Mask& cpus) {
  return syscall(SYS_sched_setaffinity, 0, cpus.size() * sizeof(unsigned long), cpus.data());
}
// MPOL_* of linux/mempolicy.h, for the calling thread.
long set_policy(int mode, const Mask& nodes) {
  // The count of bits has one more than the kernel reads.
  return syscall(SYS_set_mempolicy, mode, nodes.empty() ? nullptr : nodes.data(),
                 nodes.empty() ? 0 : kMaxNodes + 1);
}

// The first line of a sysfs file. kInternal.
Result<std::string> read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line))
    return fail(Code::kInternal, fmt::format("{}: read: {}", path, strerror(errno)));
  return line;
}

// A list of CPUs or nodes as sysfs prints it.
Result<std::vector<int>> read_list(const std::string& path) {
  const std::string line = RG_TRY(read_line(path));
  auto list = parse_cpu_list(line);
  if (!list)
    return fail(Code::kInternal, fmt::format("{}: read: '{}' is no list of numbers", path, line));
  return std::move(*list);
}

// Position of node `id`; ids may have gaps.
Result<std::size_t> index_of(const std::vector<NumaNode>& nodes, int id) {
  const auto found = std::ranges::find(nodes, id, &NumaNode::id);
  if (found == nodes.end())
    return fail(Code::kNotFound, fmt::format("NUMA node {}: it is not online", id));
  return static_cast<std::size_t>(found - nodes.begin());
}

}  // namespace

// The kernel's format, with the bound kMaxListed on every number.
std::optional<std::vector<int>> parse_cpu_list(const std::string& text) {
  std::vector<int> out;
  std::stringstream stream(text);
  std::string item;
  while (std::getline(stream, item, ',')) {
    int first = 0;
    const char* end = item.data() + item.size();
    auto parsed = std::from_chars(item.data(), end, first);
    int last = first;
    if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-')
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    if (parsed.ec != std::errc() || parsed.ptr != end || first < 0 || last < first ||
        last >= kMaxListed)
      return std::nullopt;
    for (int number = first; number <= last; ++number) out.push_back(number);
  }
  return out;
}

// Reads online, then cpulist and distance of each node. Distances that do not match the nodes mean
// a tree that changes: kInternal.
Result<std::vector<NumaNode>> numa_nodes(const std::string& sysfs) {
  const std::string folder = sysfs + "/devices/system/node/";
  std::vector<NumaNode> nodes;
  if (!std::ifstream(folder + "online")) {
    nodes.push_back({.id = 0, .cpus = {}, .distances = {10}});
    return nodes;
  }
  for (const int id : RG_TRY(read_list(folder + "online"))) {
    NumaNode node{.id = id, .cpus = {}, .distances = {}};
    const std::string own = fmt::format("{}node{}/", folder, id);
    node.cpus = RG_TRY(read_list(own + "cpulist"));
    std::stringstream words(RG_TRY(read_line(own + "distance")));
    node.distances.assign(std::istream_iterator<int>(words), std::istream_iterator<int>());
    nodes.push_back(std::move(node));
  }
  for (const NumaNode& node : nodes)
    if (node.distances.size() != nodes.size())
      return fail(Code::kInternal,
                  fmt::format("{}node{}/distance: read: {} figures for {} nodes", folder, node.id,
                              node.distances.size(), nodes.size()));
  if (nodes.empty()) return fail(Code::kInternal, folder + "online: read: it names no node");
  return nodes;
}

// The node's own CPUs win over any distance.
Result<std::size_t> nearest_node(const std::vector<NumaNode>& nodes, int node) {
  const std::size_t self = RG_TRY(index_of(nodes, node));
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].cpus.empty()) continue;
    if (!best || nodes[self].distances[i] < nodes[self].distances[*best]) best = i;
  }
  if (!nodes[self].cpus.empty() || !best) return self;
  return *best;
}

// Ties go to the lowest index.
Result<std::size_t> farthest_node(const std::vector<NumaNode>& nodes, int node) {
  const std::size_t self = RG_TRY(index_of(nodes, node));
  const std::size_t near = RG_TRY(nearest_node(nodes, node));
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i == near || nodes[i].cpus.empty()) continue;
    if (!best || nodes[self].distances[i] > nodes[self].distances[*best]) best = i;
  }
  if (best) return *best;
  return fail(Code::kFailedPrecondition,
              fmt::format("NUMA node {}: there is no other node with CPUs to measure from", node));
}

// File pages count: the kernel drops them when memory is asked for.
std::optional<std::uint64_t> available_on_node(int node, const std::string& sysfs) {
  constexpr std::uint64_t kKib = 1024;
  std::ifstream file(fmt::format("{}/devices/system/node/node{}/meminfo", sysfs, node));
  std::uint64_t available = 0;
  bool told = false;
  // "Node 0 MemFree:  123 kB"
  for (std::string line; std::getline(file, line);) {
    std::stringstream words(line);
    std::string skipped;
    std::string name;
    std::uint64_t kib = 0;
    if (!(words >> skipped >> skipped >> name >> kib)) continue;
    told = told || name == "MemFree:";
    if (name == "MemFree:" || name == "Active(file):" || name == "Inactive(file):")
      available += kib * kKib;
  }
  if (!told) return std::nullopt;
  return available;
}

// CPUs first, then the memory policy. A refused policy leaves the CPUs bound, since containers
// often filter set_mempolicy.
Result<NumaBinding> NumaBinding::bind(const NumaNode& node) {
  const std::string act = fmt::format("NUMA node {}: run on its CPUs", node.id);
  NumaBinding binding;
  Mask before = empty_mask(kMaxCpus);
  const long length =
      syscall(SYS_sched_getaffinity, 0, before.size() * sizeof(unsigned long), before.data());
  if (length < 0)
    return fail(Code::kInternal, fmt::format("{}: sched_getaffinity: {}", act, strerror(errno)));
  Mask wanted = empty_mask(kMaxCpus);
  for (const int cpu : node.cpus) set_bit(wanted, cpu);
  bool any = false;
  // Only CPUs that the process may use already: a binding must not widen a cpuset.
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] &= before[i];
    any = any || wanted[i] != 0;
  }
  if (!any)
    return fail(Code::kFailedPrecondition,
                act +
                    ": none of them is allowed to this process (cpuset or taskset); allow one, "
                    "or measure from where it runs with numa=any");
  if (set_affinity(wanted) != 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: sched_setaffinity: {}", act, errno_words(errno)));
  binding.before_.cpus = std::move(before);
  // The policy before, for restore().
  Mask policy_nodes = empty_mask(kMaxNodes);
  int policy = MPOL_DEFAULT;
  if (syscall(SYS_get_mempolicy, &policy, policy_nodes.data(), kMaxNodes + 1, nullptr, 0) != 0)
    return binding;
  Mask own = empty_mask(kMaxNodes);
  set_bit(own, node.id);
  if (set_policy(MPOL_BIND, own) != 0) return binding;
  binding.before_.memory_bound = true;
  binding.before_.policy = policy;
  if (policy != MPOL_DEFAULT) binding.before_.policy_nodes = std::move(policy_nodes);
  return binding;
}

// The moved-from binding restores nothing.
NumaBinding::NumaBinding(NumaBinding&& other) noexcept
    : before_(std::exchange(other.before_, {})) {}

NumaBinding& NumaBinding::operator=(NumaBinding&& other) noexcept {
  if (this != &other) {
    restore();
    before_ = std::exchange(other.before_, {});
  }
  return *this;
}

// Sets back what bind() found.
void NumaBinding::restore() {
  // Both were the process's own a moment ago; if they are refused now, nothing better is left.
  if (!before_.cpus.empty()) static_cast<void>(set_affinity(before_.cpus));
  if (before_.memory_bound) static_cast<void>(set_policy(before_.policy, before_.policy_nodes));
  before_ = {};
}

}  // namespace railgauge

// The system's limits for the agent and its runners.
#include <algorithm>

#include "agent/inventory/facts/rdma_handles.h"
#include "agent/preflight/rules/cpu_list.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
// Below this limit no memory region can be registered.
constexpr std::uint64_t kLeastLockedBytes = std::uint64_t{64} << 20U;
// Enough locked memory for the shipped suites.
constexpr std::uint64_t kGoodLockedBytes = std::uint64_t{1} << 30U;
// Free memory of the control group that a measurement needs.
constexpr std::uint64_t kLeastRoomBytes = std::uint64_t{1} << 30U;

const std::vector<std::string>& memlock_remedy() {
  static constexpr const char* kSetMemlock =
      "printf '[Service]\\nLimitMEMLOCK=infinity\\n' > "
      "/etc/systemd/system/railgauge-agent.service.d/memlock.conf";
  static const std::vector<std::string> kRemedy{
      "mkdir -p /etc/systemd/system/railgauge-agent.service.d", kSetMemlock,
      "systemctl daemon-reload && systemctl restart railgauge-agent",
      "# in a container: --ulimit memlock=-1, or the capability IPC_LOCK",
      "# of a shell (--local): ulimit -l unlimited, which /etc/security/limits.conf must allow"};
  return kRemedy;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / kMiB; }

// The memory that the agent's control group still allows.
CheckResult judge_memory(const MemoryLimits& limits) {
  const Fact<std::uint64_t>& most = limits.cgroup_memory_max_bytes;
  if (most.is_absent() || most.is(kUnlimited)) return passed("memory", "no limit", most);
  if (!most.is_known()) return not_known("memory", "the group's limit of memory", most);
  if (!limits.cgroup_memory_now_bytes.is_known())
    return not_known("memory", "how much of the group's memory is in use",
                     limits.cgroup_memory_now_bytes);
  const std::uint64_t now = limits.cgroup_memory_now_bytes.value;
  const std::uint64_t room = most.value > now ? most.value - now : 0;
  const std::string text =
      fmt::format("{:.0f} MiB of {:.0f} MiB are free", mib(room), mib(most.value));
  if (room < kLeastRoomBytes)
    return warned("memory", text, most,
                  {"systemctl set-property railgauge-agent.service MemoryMax=infinity",
                   "# in a pod: raise its memory limit"});
  return passed("memory", text, most);
}

// The processors that the agent's control group allows; two ranks need two.
CheckResult judge_cpus(const Inventory& node) {
  const Fact<std::string>& cpus = node.limits.cgroup_cpus;
  if (cpus.is_absent()) return passed("processors", "no limit", cpus);
  if (!cpus.is_known()) return not_known("processors", "which processors it may use", cpus);
  const std::size_t allowed = processors_of(cpus.value).size();
  if (allowed == 0)
    return in_error("processors", fmt::format("\"{}\" names no processor", cpus.value),
                    cpus.source);
  const std::uint32_t all = node.cpu.processors.value_or(0);
  const std::string text = fmt::format("{} may be used", cpus.value);
  if (allowed < all && allowed < 2)
    return warned("processors", text + ": one is too few for two ranks", cpus,
                  {"systemctl set-property railgauge-agent.service AllowedCPUs="});
  return passed("processors", text, cpus);
}

// The RDMA handles that the control group still allows for a device.
CheckResult judge_rdma(const std::string& device, const Fact<std::string>& most,
                       const Facts& in_use) {
  if (!most.is_known()) return not_known(device, "the group's limit of RDMA handles", most);
  const auto used = in_use.find(device);
  const std::string now = used == in_use.end() ? "" : used->second.value_or("");
  const std::string text = now.empty() ? most.value : fmt::format("{}; {} in use", most.value, now);
  if (rdma_handles_left(most.value, now) > 0) return passed(device, text, most);
  return failed(
      device, text + ": nothing more can be opened", most,
      {fmt::format("echo \"{} hca_handle=max hca_object=max\" > {}", device, most.source)});
}

}  // namespace

// RDMA pins memory. The limit on locked memory must allow it, or the agent must have CAP_IPC_LOCK.
CheckResults judge_locked_memory(const CheckInput& input) {
  if (input.node.rdma.empty())
    return no_rdma(input.node, "no device here has RDMA: nothing is registered");
  const MemoryLimits& limits = input.node.limits;
  if (limits.cap_ipc_lock.is(true))
    return {passed("", "the capability IPC_LOCK lifts the limit", limits.cap_ipc_lock)};
  const Fact<std::uint64_t>& soft = limits.memlock_soft_bytes;
  if (!soft.is_known()) return {not_known("", "the limit of locked memory", soft)};
  if (soft.value == kUnlimited) return {passed("", "unlimited", soft)};
  const std::string text = fmt::format("{:.3g} MiB", mib(soft.value));
  if (soft.value < kLeastLockedBytes) return {failed("", text, soft, memlock_remedy())};
  if (soft.value < kGoodLockedBytes) return {warned("", text, soft, memlock_remedy())};
  return {passed("", text, soft)};
}

CheckResults judge_cgroup(const CheckInput& input) {
  const Inventory& node = input.node;
  CheckResults results{judge_memory(node.limits), judge_cpus(node)};
  if (node.limits.cgroup_rdma_told.is_open())
    results.push_back(
        not_known("RDMA", "the group's limit of RDMA handles", node.limits.cgroup_rdma_told));
  for (const auto& [device, most] : node.limits.cgroup_rdma_max)
    results.push_back(judge_rdma(device, most, node.limits.cgroup_rdma_now));
  return results;
}

// Reserved huge pages are optional: tests that ask for them fall back.
CheckResults judge_hugepages(const CheckInput& input) {
  const Inventory& node = input.node;
  if (!node.huge_pages_free.is_known())
    return {not_known("", "how many huge pages are free", node.huge_pages_free)};
  const std::uint64_t bytes = node.huge_pages_free.value * node.huge_page_bytes.value_or(0);
  const std::string transparent = node.transparent_huge_pages.value_or("unknown");
  if (bytes == 0)
    return {warned("",
                   fmt::format("no huge page is reserved; transparent ones: {}; tests that ask for "
                               "them fall back and say so",
                               transparent),
                   node.huge_pages_free,
                   {"sysctl -w vm.nr_hugepages=512",
                    "echo vm.nr_hugepages=512 > /etc/sysctl.d/90-railgauge-hugepages.conf"})};
  return {passed("",
                 fmt::format("{:.0f} MiB are free; transparent ones: {}", mib(bytes), transparent),
                 node.huge_pages_free)};
}

}  // namespace railgauge::agent

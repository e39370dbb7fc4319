#include "controller/upgrades/undo.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/upgrade_data.h"

namespace railgauge {
namespace {

constexpr std::string_view kReboot = "reboot";
constexpr std::string_view kDrain = "drain";
constexpr std::string_view kJobs = "jobs";

// Parts of agent/inventory/stack.cc by the beginning of their names; the first that fits counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kNeeds{{
    {"linux_kernel", kReboot},
    {"kernel_command_line", kReboot},
    {"bios", kReboot},
    {"gpu_vbios", kReboot},
    {"gpu_bar1_bytes", kReboot},
    {"nic_firmware", kReboot},
    {"acs_on_gpu_nic_paths", kReboot},
    {"gpu_driver", kDrain},
    {"fabric_manager", kDrain},
    {"ofed", kDrain},
    {"module.", kDrain},
    {"modprobe.", kDrain},
    {"blacklist.", kDrain},
    {"autoload", kDrain},
    {"peer_memory_path", kDrain},
    {"nic_max_read_request_bytes", kDrain},
    {"nic_relaxed_ordering", kDrain},
    {"nic_mtu_bytes", kDrain},
    {"nic.", kDrain},
    {"qos.", kDrain},
    {"cuda", kJobs},
    {"rdma_core", kJobs},
    {"nccl", kJobs},
    {"ucx", kJobs},
    {"openmpi", kJobs},
    {"mpich", kJobs},
    {"mpi.", kJobs},
    {"nccl_conf.", kJobs},
    {"railgauge", kJobs},
}};

void add_undos(const analysis::Cause& cause, api::UpgradeCause& out) {
  std::vector<std::string> changes;
  for (const std::string& change : cause.changes)
    if (!store::is_of_presence(change) && change != kHardwareReplaced) changes.push_back(change);
  if (changes.size() < 2 || cause.separators.empty()) return;
  std::stable_partition(changes.begin(), changes.end(), [](const std::string& change) {
    return undo_needs(part_of(change)) == kReboot;
  });
  const std::size_t half = (changes.size() + 1) / 2;
  // Without a second node the others stay as they are.
  const std::size_t count = cause.separators.size() > 1 ? changes.size() : changes.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    api::Undo& undo = *out.add_undos();
    undo.set_change(changes[i]);
    undo.set_node(cause.separators[i < half ? 0 : 1]);
    undo.set_needs(std::string(undo_needs(part_of(changes[i]))));
  }
}

}  // namespace

std::string_view undo_needs(std::string_view part) {
  const auto found =
      std::ranges::find_if(kNeeds, [part](const auto& row) { return part.starts_with(row.first); });
  return found == kNeeds.end() ? "unknown" : found->second;
}

api::UpgradeCause cause_message(const analysis::Cause& cause) {
  api::UpgradeCause out;
  for (const std::string& change : cause.changes) out.add_changes(change);
  out.set_exposed(static_cast<std::uint32_t>(cause.exposed));
  out.set_exposed_worse(static_cast<std::uint32_t>(cause.exposed_affected));
  out.set_unexposed(static_cast<std::uint32_t>(cause.unexposed));
  out.set_unexposed_worse(static_cast<std::uint32_t>(cause.unexposed_affected));
  out.set_p(cause.p);
  out.set_explains(cause.explains);
  for (const std::string& node : cause.separators) out.add_separators(node);
  add_undos(cause, out);
  return out;
}

}  // namespace railgauge

// A check of preflight: a pure function from the known facts of a node to results. THE list of
// checks is table.cc; a new check is a function, its declaration and row there, and its tests.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "controller/api/states.h"

namespace railgauge::agent {

using api::CheckState;

struct CheckResult {
  CheckState state = CheckState::kUnknown;
  std::string subject{};   // "mlx5_0:1", "gpu0", "gpu0+mlx5_0"; "" is the node
  std::string observed{};  // one line
  std::string source{};    // the place of the fact
  // For the operator: commands, and comments that begin with "# ". Railgauge runs none of them.
  std::vector<std::string> remedy{};
};
using CheckResults = std::vector<CheckResult>;

// The result of registering a GPU's memory with a NIC, tried in a runner.
struct ProbeAnswer {
  enum class State : std::uint8_t { kRegistered, kRefused, kBusy, kNotTried, kError };
  std::string gpu{};  // "gpu0"
  std::string nic{};  // "mlx5_0"
  State state = State::kError;
  std::string path{};  // "dma-buf", "nvidia-peermem"; for kRegistered
  std::string text{};  // the refusal, the GPU's user, or the reason of kNotTried
  double at_unix_seconds = 0;
  bool is_synthetic = false;  // a fake driver or device took part
};

// The site profile's values about the fabric; absent: not declared.
struct SiteRules {
  std::optional<std::uint32_t> lossless_priority{};  // 0 to 7
  std::optional<std::uint32_t> traffic_class{};      // production's, 0 to 255
};

struct CheckInput {
  const Inventory& node;
  std::span<const ProbeAnswer> probes{};  // the newest of each pair, kBusy included
  // The last real answer of each pair that is kBusy or was not tried now.
  std::span<const ProbeAnswer> earlier{};
  std::set<std::string> required{};  // ids that a user relies on
  double now_unix_seconds = 0;
  SiteRules site{};
};

// A check's function, in a file of agent/preflight/checks.
using Judge = CheckResults(const CheckInput&);

struct Check {
  std::string_view id;     // "acs"
  std::string_view title;  // "ACS on the GPU-NIC path"
  std::string_view why;    // why it matters, one sentence
  std::string_view needs;  // what reading it may need beyond an ordinary user; "" is nothing
  Judge* judge;
};

// Returns all checks in the order of the report.
std::span<const Check> all_checks();
// Returns the check with that id, or nullptr.
const Check* find_check(std::string_view id);

// Checks that other code calls directly; table.cc declares the others.
Judge judge_peer_memory_client, judge_peer_memory_conflict, judge_registration, judge_peermem_build,
    judge_acs, judge_iommu, judge_rdma_device_nodes, judge_minimum_versions;

}  // namespace railgauge::agent

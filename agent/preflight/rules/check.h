// A check of preflight: a pure function from what is known of the node to results. THE list of
// checks is table.cc; adding one costs a function, a row there and its tests.
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
  // For the operator: commands, and comments that begin with "# ". Nothing here is ever run by us.
  std::vector<std::string> remedy{};
};
using CheckResults = std::vector<CheckResult>;

// The result of registering a GPU's memory with a NIC, tried in a runner.
struct ProbeAnswer {
  enum class State : std::uint8_t { kRegistered, kRefused, kBusy, kNotTried, kError };
  std::string gpu{};  // "gpu0"
  std::string nic{};  // "mlx5_0"
  State state = State::kError;
  std::string path{};  // "dma-buf", "nvidia-peermem"; of kRegistered
  std::string text{};  // what was refused, who is busy, why not tried
  double at_unix_seconds = 0;
  bool is_synthetic = false;  // a fake driver or device had a part in it
};

// The site profile's values about the fabric; nothing where there is none.
struct SiteRules {
  std::optional<std::uint32_t> lossless_priority{};  // 0 to 7
  std::optional<std::uint32_t> traffic_class{};      // production's, 0 to 255
};

struct CheckInput {
  const Inventory& node;
  std::span<const ProbeAnswer> probes{};  // the newest of each pair; busy ones too
  // The last that was no kBusy, of pairs whose newest is, or that were not tried now.
  std::span<const ProbeAnswer> earlier{};
  std::set<std::string> required{};  // ids that somebody relies on
  double now_unix_seconds = 0;
  SiteRules site{};
};

struct Check {
  std::string_view id;     // "acs"
  std::string_view title;  // "ACS on the GPU-NIC path"
  std::string_view why;    // why it matters, one sentence
  std::string_view needs;  // what reading it may need beyond an ordinary user; "" is nothing
  CheckResults (*judge)(const CheckInput&);
};

// In the order of the report.
std::span<const Check> all_checks();
// nullptr: there is none of that id.
const Check* find_check(std::string_view id);

// --- one function a check, by file ---------------------------------------------------------------

CheckResults judge_peer_memory_client(const CheckInput& input);  // peer_memory.cc
CheckResults judge_peer_memory_conflict(const CheckInput& input);
CheckResults judge_peermem_build(const CheckInput& input);  // peermem_build.cc
CheckResults judge_peermem_mode(const CheckInput& input);
CheckResults judge_registration(const CheckInput& input);  // registration.cc
CheckResults judge_dmabuf_gpu(const CheckInput& input);    // dmabuf.cc
CheckResults judge_dmabuf_nic(const CheckInput& input);
CheckResults judge_acs(const CheckInput& input);        // acs.cc
CheckResults judge_iommu(const CheckInput& input);      // iommu.cc
CheckResults judge_bar1_size(const CheckInput& input);  // iommu.cc
CheckResults judge_pcie_link(const CheckInput& input);  // pcie_link.cc
CheckResults judge_pcie_limited(const CheckInput& input);
CheckResults judge_pcie_errors(const CheckInput& input);
CheckResults judge_pcie_read_request(const CheckInput& input);  // pcie_settings.cc
CheckResults judge_relaxed_ordering(const CheckInput& input);
CheckResults judge_gpu_nic_distance(const CheckInput& input);  // placement.cc
CheckResults judge_numa_locality(const CheckInput& input);
CheckResults judge_port_state(const CheckInput& input);  // ports.cc
CheckResults judge_mtu(const CheckInput& input);
CheckResults judge_gid(const CheckInput& input);
CheckResults judge_lossless(const CheckInput& input);  // fabric.cc
CheckResults judge_congestion_control(const CheckInput& input);
CheckResults judge_port_errors(const CheckInput& input);
CheckResults judge_nic_firmware(const CheckInput& input);  // versions.cc
CheckResults judge_versions(const CheckInput& input);
CheckResults judge_minimum_versions(const CheckInput& input);
CheckResults judge_gpu_ecc(const CheckInput& input);  // gpu_health.cc
CheckResults judge_xid(const CheckInput& input);      // xid.cc
CheckResults judge_gpu_mode(const CheckInput& input);
CheckResults judge_gpu_clocks(const CheckInput& input);
CheckResults judge_nvlink(const CheckInput& input);         // nvlink.cc
CheckResults judge_locked_memory(const CheckInput& input);  // process_limits.cc
CheckResults judge_cgroup(const CheckInput& input);
CheckResults judge_hugepages(const CheckInput& input);
CheckResults judge_cpu_power(const CheckInput& input);  // host.cc
CheckResults judge_rdma_device_nodes(const CheckInput& input);
CheckResults judge_bar_copy_driver(const CheckInput& input);

}  // namespace railgauge::agent

// The cases of checks_test.cc: a change of the sample node, and the result of one check. Synthetic.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/preflight/testing/sample_node.h"

namespace railgauge::agent {

struct World {
  Inventory node = sample_node();
  std::vector<ProbeAnswer> probes{};
  std::vector<ProbeAnswer> earlier{};
  std::set<std::string> required{};
  SiteRules site{};
  [[nodiscard]] CheckInput input() const {
    return {.node = node,
            .probes = probes,
            .earlier = earlier,
            .required = required,
            .now_unix_seconds = 1.7e9 + 3600,
            .site = site};
  }
};

struct Case {
  const char* check;
  CheckState state;  // the worst state of its results
  const char* says;  // part of the `observed` of one result
  std::function<void(World&)> change = [](World&) {};
  const char* remedy = "";  // part of a line of its remedy
};

inline constexpr CheckState kPass = CheckState::kPass;
inline constexpr CheckState kWarn = CheckState::kWarn;
inline constexpr CheckState kFail = CheckState::kFail;
inline constexpr CheckState kError = CheckState::kError;
inline constexpr CheckState kWaived = CheckState::kWaived;
inline constexpr CheckState kUnknown = CheckState::kUnknown;

inline NvmlGpu& nvml(World& world) { return world.node.gpus[0].nvml; }
inline RdmaPort& port(World& world) { return world.node.rdma[0].ports[0]; }
inline PciDevice& nic(World& world) { return world.node.pci[kSampleNic]; }
inline PciDevice& gpu(World& world) { return world.node.pci[kSampleGpu]; }
inline void use_infiniband(World& world, std::uint32_t active_mtu) {
  port(world).link_layer.value = "infiniband";
  port(world).active_mtu_bytes = told(active_mtu);
  port(world).max_mtu_bytes = told<std::uint32_t>(4096);
}
inline void unload(World& world, const char* module) {
  world.node.modules[module].is_loaded = false;
  world.node.loaded_modules.value.erase(module);
}
inline void load_legacy(World& world) {
  world.node.modules["nv_peer_mem"].is_loaded = true;
  world.node.loaded_modules.value.insert("nv_peer_mem");
}
inline void use_proprietary(World& world) { world.node.gpu_driver_flavour.value = "proprietary"; }
inline void move_nic_away(World& world) {
  nic(world).host_bridge = "pci0000:80";
  nic(world).numa_node = told(1);
  nic(world).bridges = {"0000:80:01.0"};
}
inline void log_line(World& world, const char* line) {
  world.node.kernel_log.value.emplace_back(line);
}
inline void probe_says(World& world, ProbeAnswer::State state, const char* text) {
  ProbeAnswer answer = sample_probe();
  answer.state = state;
  answer.text = text;
  world.probes = {answer};
}

std::vector<Case> memory_cases();
std::vector<Case> path_cases();
std::vector<Case> fabric_cases();
std::vector<Case> health_cases();
std::vector<Case> host_cases();

}  // namespace railgauge::agent

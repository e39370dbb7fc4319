// The modelled site of the demo, as files of its folder. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace railgauge::cli {

inline constexpr std::uint32_t kLeastDemoNodes = 16;
inline constexpr std::uint32_t kMostDemoNodes = 1'024;
inline constexpr std::uint32_t kUsualDemoNodes = 64;

// The story's days, counted from its begin at midnight UTC. Nights are measured at one o'clock. A
// port that falls behind its peers is found in the eighth night at the earliest.
inline constexpr int kDemoBadDay = 5;      // a port is slow from its noon on
inline constexpr int kDemoUpgradeDay = 7;  // nodes get another driver at its noon
// The kernels that the suites use.
inline constexpr const char* kDemoKernels = "verbs.write_bw,nccl.all_reduce";
inline constexpr const char* kDemoNightCron = "0 1 * * *";

// Names of what goes wrong, for a site of so many nodes.
struct DemoNames {
  std::string bad_node;  // with the slow port
  std::string upgraded;  // the set whose driver changes
  std::string driver = "560.35.03";
};
DemoNames demo_names(std::uint32_t nodes);

// The scenario for railgauge-fleet; `begin` is a date.
std::string demo_scenario(std::uint32_t nodes, const std::string& begin);
// The nodes of each leaf, a set a line, and the site profile that names this file.
std::string demo_leaves(std::uint32_t nodes);
std::string demo_profile(const std::string& leaves_file);

// The suites: `night` for every node, `upgrade` for both sides of an upgrade.
std::string demo_night_suite();
std::string demo_upgrade_suite();

}  // namespace railgauge::cli

// Preflight of this machine: reads the inventory, tries registrations if asked, and judges.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/os/confinement.h"
#include "agent/preflight/probe/probe_memory.h"
#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Limit of a preflight without a probe. The inventory gets three quarters of it; the helper, and
// then the runner that asks ports, the rest. The controller waits 5 s; 2 s a node are promised.
inline constexpr double kPreflightSeconds = 1.9;

// Limit of a preflight with a probe.
inline constexpr double kProbedSeconds = 9.8;

struct PreflightOptions {
  std::string node_name{};
  InventoryOptions inventory{};
  std::vector<std::string> require{};
  SiteRules site{};
  bool probe = false;
  double seconds = kPreflightSeconds;
  std::string runner{};  // path of railgauge-runner, for facts by verbs and the probe
  std::optional<Confinement> confinement{};  // of that runner; absent: an operator's own command
  std::string state_folder{};                // stores the last answers of registrations; "": none
};

// Returns the options for reading the node. Pure.
InventoryOptions inventory_within(const PreflightOptions& options);
// Returns the seconds left for the next question after `spent_seconds`: at most `most`, at least
// 0.05. Pure.
double left_for_question(const PreflightOptions& options, double spent_seconds, double most);

// Returns the seconds left for the probe after `spent_seconds`, at least 1. Pure.
double left_for_probe(double spent_seconds);

// Blocks for about options.seconds at most, or kProbedSeconds with a probe. Never fails: the report
// lists facts that could not be read.
api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory);

}  // namespace railgauge::agent

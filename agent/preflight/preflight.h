// Preflight of this machine: reads the inventory, tries registrations where asked, judges.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/preflight/probe/probe_memory.h"
#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Without a probe, in all: the inventory has three quarters of it; the helper, and then the runner
// that asks ports, what is left. The controller waits 5 s, and a node below 2 s is promised.
inline constexpr double kPreflightSeconds = 1.9;

// With a probe, in all.
inline constexpr double kProbedSeconds = 9.8;

struct PreflightOptions {
  std::string node_name{};
  InventoryOptions inventory{};
  std::vector<std::string> require{};
  SiteRules site{};
  bool probe = false;
  double seconds = kPreflightSeconds;
  std::string runner{};        // path of railgauge-runner, for the verbs' facts and the probe
  std::string state_folder{};  // where registrations' last answers are kept; "": nowhere
};

// The options of reading the node. Pure.
InventoryOptions inventory_within(const PreflightOptions& options);
// The time for the next question after so many seconds, at most `most` and never nothing. Pure.
double left_for_question(const PreflightOptions& options, double spent_seconds, double most);

// The time for the probe after so many seconds. Pure.
double left_for_probe(double spent_seconds);

// Blocks for as long as reading takes, and up to kProbedSeconds with a probe. Never fails: what
// could not be read is in the report.
api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory);

}  // namespace railgauge::agent

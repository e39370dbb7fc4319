// Preflight of this machine: reads the inventory, tries registrations where asked, judges.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agent/inventory/inventory.h"
#include "agent/preflight/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Without a probe, in all: the inventory has three quarters of it; the helper, and then the runner
// that asks ports, what is left. The controller waits 5 s, and a node below 2 s is promised.
inline constexpr double kPreflightSeconds = 1.9;

struct PreflightOptions {
  std::string node_name{};
  InventoryOptions inventory{};
  std::vector<std::string> require{};
  SiteRules site{};
  bool probe = false;
  double seconds = kPreflightSeconds;
  std::string runner{};  // path of railgauge-runner, for what verbs tell, and the probe
};

// Remembers what registrations said, so that a busy GPU's last answer can be told. Thread safe.
class ProbeMemory {
 public:
  // Notes `answers` and gives, for those that are kBusy, the last other one.
  std::vector<ProbeAnswer> exchange(const std::vector<ProbeAnswer>& answers);
  // All that is remembered.
  [[nodiscard]] std::vector<ProbeAnswer> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, ProbeAnswer> last_;  // by GPU and NIC
};

// What the reading of the node is given. Pure.
InventoryOptions inventory_within(const PreflightOptions& options);
// What the next question is given after so many seconds, at most `most` and never nothing. Pure.
double left_for_question(const PreflightOptions& options, double spent_seconds, double most);

// Blocks for as long as reading takes, and up to kProbeSeconds with a probe. Never fails: what
// could not be read is in the report.
api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory);

}  // namespace railgauge::agent

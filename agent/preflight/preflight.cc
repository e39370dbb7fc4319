#include "agent/preflight/preflight.h"

#include <algorithm>
#include <ctime>

#include "agent/preflight/helper.h"
#include "agent/preflight/pairs.h"
#include "agent/preflight/port_probe.h"
#include "agent/preflight/probe.h"
#include "agent/preflight/report.h"
#include "kernels/core/clock.h"

namespace railgauge::agent {

std::vector<ProbeAnswer> ProbeMemory::exchange(const std::vector<ProbeAnswer>& answers) {
  const std::lock_guard lock(mutex_);
  std::vector<ProbeAnswer> earlier;
  for (const ProbeAnswer& answer : answers) {
    const auto key = std::pair{answer.gpu, answer.nic};
    if (answer.state != ProbeAnswer::State::kBusy)
      last_[key] = answer;
    else if (const auto found = last_.find(key); found != last_.end())
      earlier.push_back(found->second);
  }
  return earlier;
}

std::vector<ProbeAnswer> ProbeMemory::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<ProbeAnswer> answers;
  for (const auto& [key, answer] : last_) answers.push_back(answer);
  return answers;
}

InventoryOptions inventory_within(const PreflightOptions& options) {
  constexpr double kShare = 0.75;
  InventoryOptions inventory = options.inventory;
  inventory.all_seconds = options.seconds * kShare;
  return inventory;
}

double left_for_question(const PreflightOptions& options, double spent_seconds, double most) {
  constexpr double kLeastSeconds = 0.05;
  return std::min(std::max(options.seconds - spent_seconds, kLeastSeconds), most);
}

api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory) {
  const double begin_ns = monotonic_now_ns();
  const auto left = [&](double most) {
    return left_for_question(options, (monotonic_now_ns() - begin_ns) / 1e9, most);
  };
  Inventory node = read_inventory(inventory_within(options));
  leave_out_hidden_gpus(node);
  if (options.inventory.root.empty()) {
    // Another tree than the machine's own is none of the helper's.
    if (options.inventory.sysfs.empty()) ask_node_facts(node, left(kNodeFactsSeconds));
    ask_ports(options.runner, node, left(kPortProbeSeconds));
  }
  std::vector<ProbeAnswer> probes;
  std::vector<ProbeAnswer> earlier = memory.all();
  if (options.probe) {
    probes = probe_registrations(node, options.runner);
    earlier = memory.exchange(probes);
  }
  const CheckInput input{.node = node,
                         .probes = probes,
                         .earlier = earlier,
                         .required = {options.require.begin(), options.require.end()},
                         .now_unix_seconds = static_cast<double>(std::time(nullptr)),
                         .site = options.site};
  return make_preflight_report(options.node_name, input, (monotonic_now_ns() - begin_ns) / 1e9);
}

}  // namespace railgauge::agent

#include "agent/preflight/preflight.h"

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

api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory) {
  const double begin_ns = monotonic_now_ns();
  Inventory node = read_inventory(options.inventory);
  leave_out_hidden_gpus(node);
  if (options.inventory.root.empty()) {
    // Another tree than the machine's own is none of the helper's.
    if (options.inventory.sysfs.empty()) ask_node_facts(node);
    ask_ports(options.runner, node);
  }
  std::vector<ProbeAnswer> probes;
  std::vector<ProbeAnswer> earlier;
  if (options.probe) {
    probes = probe_registrations(node, options.runner);
    earlier = memory.exchange(probes);
  }
  const CheckInput input{.node = node,
                         .probes = probes,
                         .earlier = earlier,
                         .required = {options.require.begin(), options.require.end()},
                         .now_unix_seconds = static_cast<double>(std::time(nullptr))};
  return make_preflight_report(options.node_name, input, (monotonic_now_ns() - begin_ns) / 1e9);
}

}  // namespace railgauge::agent

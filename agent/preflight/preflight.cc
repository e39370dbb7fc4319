#include "agent/preflight/preflight.h"
#include "agent/inventory/read_inventory.h"

#include <algorithm>
#include <ctime>

#include "agent/preflight/probe/helper.h"
#include "agent/preflight/probe/port_probe.h"
#include "agent/preflight/probe/probe.h"
#include "agent/preflight/report.h"
#include "agent/preflight/rules/pairs.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {

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

double left_for_probe(double spent_seconds) {
  return std::clamp(kProbedSeconds - spent_seconds, 1.0, kProbeSeconds);
}

api::PreflightReport run_preflight(const PreflightOptions& options, ProbeMemory& memory) {
  const double begin_ns = monotonic_now_ns();
  const auto spent_seconds = [&] { return (monotonic_now_ns() - begin_ns) / 1e9; };
  const auto left = [&](double most) { return left_for_question(options, spent_seconds(), most); };
  const Confinement* confinement = options.confinement ? &*options.confinement : nullptr;
  Inventory node = read_inventory(inventory_within(options));
  leave_out_hidden_gpus(node);
  if (options.inventory.root.empty()) {
    // The helper reads the machine itself, so it is not asked for another tree.
    if (options.inventory.sysfs.empty()) ask_node_facts(node, left(kNodeFactsSeconds));
    ask_ports(options.runner, node, left(kPortProbeSeconds), confinement);
  }
  std::vector<ProbeAnswer> probes;
  if (options.probe)
    probes =
        probe_registrations(node, options.runner, left_for_probe(spent_seconds()), confinement);
  const double now_unix_seconds = static_cast<double>(std::time(nullptr));
  const std::vector<ProbeAnswer> earlier =
      options.probe ? memory.exchange(probes, now_unix_seconds) : memory.all(now_unix_seconds);
  const CheckInput input{.node = node,
                         .probes = probes,
                         .earlier = earlier,
                         .required = {options.require.begin(), options.require.end()},
                         .now_unix_seconds = now_unix_seconds,
                         .site = options.site};
  return make_preflight_report(options.node_name, input, spent_seconds());
}

}  // namespace railgauge::agent

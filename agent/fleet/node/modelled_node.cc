#include "agent/fleet/node/modelled_node.h"

#include <vector>

#include <fmt/format.h>

#include "agent/fleet/model/keyed_random.h"
#include "agent/fleet/model/node_state.h"
#include "agent/inventory/contract.h"
#include "agent/inventory/facts/topology.h"
#include "agent/preflight/report.h"

namespace railgauge::fleet {
namespace {

constexpr double kPreflightTook = 0.02;

std::string hex_of(const DrawKey& key) {
  return fmt::format("{:016x}{:016x}", key.with("high").bits(), key.with("low").bits());
}

DrawKey key_of(const Scenario& scenario, std::uint32_t node) {
  return DrawKey(scenario.seed).with("node").with(std::uint64_t{node});
}

// A registration by dma-buf of each GPU with its nearest NICs, as a runner would answer.
std::vector<agent::ProbeAnswer> probes_of(const agent::Inventory& inventory, double now) {
  std::vector<agent::ProbeAnswer> answers;
  for (const agent::GpuFacts& gpu : inventory.gpus)
    for (const std::string& nic : agent::nearest_nics(inventory, gpu))
      answers.push_back({.gpu = gpu.name,
                         .nic = nic,
                         .state = agent::ProbeAnswer::State::kRegistered,
                         .path = "dma-buf",
                         .at_unix_seconds = now,
                         .is_synthetic = true});
  return answers;
}

}  // namespace

double clock_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns) {
  const Nanoseconds ahead = agent_at(scenario, node, time_ns).clock_ahead_ns;
  return scenario.begin_unix_seconds + static_cast<double>(time_ns + ahead) / kNsPerSecond;
}

void fill_busy(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns,
               api::BusyState& busy) {
  busy.clear_reasons();
  const auto job = job_at(scenario, node, time_ns);
  if (!job) return;
  api::BusyReason& reason = *busy.add_reasons();
  reason.set_source("hook");
  reason.set_text(fmt::format("{}: job {}", kSynthetic, *job));
}

api::Hello hello_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns) {
  const DrawKey key = key_of(scenario, node);
  api::Hello hello;
  hello.set_node_id(hex_of(key.with("id")));
  hello.set_name(node_name(scenario.fabric, node));
  hello.set_incarnation(
      hex_of(key.with("start").with(std::uint64_t{agent_at(scenario, node, time_ns).starts})));
  hello.set_version(RAILGAUGE_VERSION);
  agent::fill_hello(inventory_at(scenario, node, time_ns), hello);
  const std::uint32_t leaf = scenario.leaf_of(node);
  (*hello.mutable_facts())[kSynthetic] = "true";
  (*hello.mutable_facts())["leaf"] = leaf_name(leaf);
  (*hello.mutable_facts())["pod"] = fmt::format("P{}", scenario.pod_of(leaf));
  for (const char* label : {"leaf", "pod"})
    (*hello.mutable_labels())[label] = hello.facts().at(label);
  fill_busy(scenario, node, time_ns, *hello.mutable_busy());
  hello.set_unix_time_seconds(clock_at(scenario, node, time_ns));
  return hello;
}

api::PreflightAnswer preflight_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns,
                                  const api::PreflightOrder& order) {
  const agent::Inventory inventory = inventory_at(scenario, node, time_ns);
  const double now = clock_at(scenario, node, time_ns);
  const std::vector<agent::ProbeAnswer> probes =
      order.probe() ? probes_of(inventory, now) : std::vector<agent::ProbeAnswer>{};
  agent::CheckInput input{.node = inventory,
                          .probes = probes,
                          .required = {order.require().begin(), order.require().end()},
                          .now_unix_seconds = now};
  if (order.has_lossless_priority()) input.site.lossless_priority = order.lossless_priority();
  if (order.has_traffic_class()) input.site.traffic_class = order.traffic_class();
  api::PreflightAnswer answer;
  answer.set_request_id(order.request_id());
  *answer.mutable_report() =
      agent::make_preflight_report(node_name(scenario.fabric, node), input, kPreflightTook);
  // Every table shows what was observed.
  for (api::PreflightCheck& check : *answer.mutable_report()->mutable_checks())
    check.set_observed(fmt::format("{}: {}", kSynthetic, check.observed()));
  return answer;
}

}  // namespace railgauge::fleet

// Which slice a plan takes, and of which nodes; who of a rest's nodes can be used.
#include <algorithm>

#include <fmt/format.h>

#include "controller/control/control.h"
#include "controller/fleet/rows.h"
#include "controller/plan/topology/node_set.h"

namespace railgauge {
namespace {

constexpr double kSecondsPerDay = 86'400;
// Away for longer a node keeps no place in slices that are taken of whoever is there.
constexpr double kRememberedSeconds = 30 * kSecondsPerDay;

}  // namespace

std::uint64_t Control::day_of(double unix_seconds) {
  return static_cast<std::uint64_t>(unix_seconds / kSecondsPerDay);
}

std::uint64_t Control::today() { return day_of(fleet::unix_seconds()); }

Result<Control::Nodes> Control::all_nodes() {
  Nodes all = nodes();
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes()))
    if (!all.contains(row.name)) all.emplace(row.name, fleet::state_of(row));
  return all;
}

// As the suite's text has it, or found out now.
plan::SliceOrigin Control::night_of(const plan::Suite& suite, const PlanFor& made_for,
                                    const LeftOut& left_out, const Nodes& all) {
  if (suite.night) return *suite.night;
  plan::SliceOrigin night{.number = made_for.night, .nodes = made_for.slice_of};
  if (night.nodes.empty()) night.nodes = left_out.asked;
  if (!night.nodes.empty()) return night;
  const double since = fleet::unix_seconds() - kRememberedSeconds;
  for (const auto& [name, node] : all)
    if (node.presence == fleet::NodePresence::kAttached || node.last_seen_at_unix >= since)
      night.nodes.push_back(name);
  return night;
}

// All that the run had, in its order. kUnavailable: none of them can be used.
Result<Control::Nodes> Control::nodes_of_rest(const api::RunRequest& request, PlanFor& made_for,
                                              std::vector<std::string>& order, LeftOut& left_out) {
  const Nodes all = RG_TRY(all_nodes());
  std::vector<std::string> names;
  for (const auto& [name, node] : all) names.push_back(name);
  order = left_out.asked = RG_TRY(plan::select_nodes(request.node_set(), names));
  Nodes chosen;
  for (const std::string& name : order) {
    const fleet::NodeState& node = all.at(name);
    chosen.emplace(name, node);
    const std::string busy = request.force() ? "" : fleet::busy_text(node);
    if (node.presence != fleet::NodePresence::kAttached) {
      left_out.absent.push_back(name);
      made_for.unusable[name] = fmt::format("node {} is not attached", name);
    } else if (!busy.empty()) {
      left_out.busy[name] = busy;
      made_for.unusable[name] = fmt::format("node {} is busy: {}", name, busy);
    }
  }
  if (made_for.unusable.size() < order.size()) return chosen;
  return fail(Code::kUnavailable, fmt::format("none of the run's nodes can be used now: {}",
                                              made_for.unusable.begin()->second));
}

}  // namespace railgauge

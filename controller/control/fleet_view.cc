#include "controller/control/fleet_view.h"

#include <algorithm>

#include "controller/fleet/rows.h"

namespace railgauge {

NodeStates FleetView::live() const {
  return loop_.call([this] { return fleet_.nodes(); });
}

Result<NodeStates> FleetView::all() const {
  NodeStates all = live();
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes()))
    if (!all.contains(row.name)) all.emplace(row.name, fleet::state_of(row));
  return all;
}

Result<std::vector<std::string>> FleetView::names(const NodeStates& live) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : live) names.push_back(name);
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes()))
    if (!live.contains(row.name)) names.push_back(row.name);
  std::ranges::sort(names);
  return names;
}

}  // namespace railgauge

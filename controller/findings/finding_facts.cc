#include "controller/findings/finding_facts.h"

#include <algorithm>
#include <iterator>

namespace railgauge {
namespace {

constexpr std::uint32_t kPointsLookedAt = 400;
constexpr std::uint32_t kEpochsLookedAt = 100;

}  // namespace

std::set<std::string> nodes_in_common(const std::vector<store::SeriesRow>& all) {
  std::set<std::string> common;
  std::set<std::string> any;
  for (const store::SeriesRow& series : all) {
    std::set<std::string> nodes;
    for (const std::string& endpoint : series.endpoints)
      nodes.insert(endpoint.substr(0, endpoint.find('/')));
    if (any.empty()) common = nodes;
    any.insert(nodes.begin(), nodes.end());
    std::set<std::string> both;
    std::ranges::set_intersection(common, nodes, std::inserter(both, both.end()));
    common = std::move(both);
  }
  return common.empty() ? any : common;
}

Result<FindingFacts> facts_of(const store::Store& store, const store::FindingRow& row,
                              const std::set<std::string>& nodes) {
  FindingFacts facts{.kind = row.kind, .run_id = row.run_id, .opened_at = row.opened_at};
  facts.before = row.series.front().before;
  facts.after = row.series.front().after;
  const store::HistoryRow history =
      RG_TRY(store.history(row.series.front().series, std::nullopt, kPointsLookedAt));
  for (const store::HistoryPointRow& point : history.points)
    if (point.outcome == "passed" && point.median > 0)
      facts.points.push_back({point.measured_at, point.median});
  for (const store::NodeRow& node : RG_TRY(store.list_nodes())) {
    if (!nodes.contains(node.name) || facts.nodes.size() == kMostNodes) continue;
    facts.nodes.push_back(
        {.name = node.name,
         .node_id = node.node_id,
         .epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLookedAt))});
  }
  return facts;
}

}  // namespace railgauge

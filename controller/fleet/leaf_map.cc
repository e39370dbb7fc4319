#include "controller/fleet/leaf_map.h"

#include <spdlog/spdlog.h>

#include "controller/fleet/convert.h"
#include "controller/plan/suite/suite_folder.h"

namespace railgauge {
namespace {

Result<plan::Topology> topology_of(const plan::TopologySource& source,
                                   const std::vector<plan::TopologyNode>& nodes) {
  std::string text;
  if (!source.file.empty()) text = RG_TRY(read_whole_file(source.file, plan::kMaxTopologyBytes));
  return plan::read_topology(source, text, nodes);
}

}  // namespace

LeafMap leaves_of(const plan::Site& site, const std::vector<store::NodeRow>& nodes) {
  LeafMap leaves;
  if (site.topology.source.empty() || nodes.empty()) return leaves;
  std::vector<plan::TopologyNode> asked;
  for (const store::NodeRow& node : nodes) asked.push_back(topology_node_of(state_of(node)));
  const Result<plan::Topology> topology = topology_of(site.topology, asked);
  if (!topology) {
    spdlog::warn("topology: {}", topology.error().message);
    return leaves;
  }
  for (const auto& [node, place] : topology->nodes)
    if (!place.leaf.empty()) leaves[node] = place.leaf;
  return leaves;
}

std::vector<std::string> facts_of_leaves(const plan::TopologySource& topology) {
  if (topology.source != "labels") return {};
  return {topology.leaf_label, topology.pod_label};
}

}  // namespace railgauge

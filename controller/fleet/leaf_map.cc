#include "controller/fleet/leaf_map.h"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "controller/plan/suite/suite_folder.h"

namespace railgauge {
namespace {

plan::TopologyNode topology_node_of(const store::NodeRow& row) {
  plan::TopologyNode node{.name = row.name, .labels = row.described};
  node.labels.insert(row.facts.begin(), row.facts.end());
  std::vector<const store::EndpointRow*> nics;
  for (const store::EndpointRow& endpoint : row.endpoints)
    if (endpoint.kind == "nic") nics.push_back(&endpoint);
  std::ranges::stable_sort(nics, {},
                           [](const store::EndpointRow* nic) { return nic->pci_address; });
  for (const store::EndpointRow* nic : nics) {
    node.guids.push_back(nic->guid);
    node.netdevs.push_back(nic->netdev);
  }
  return node;
}

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
  for (const store::NodeRow& node : nodes) asked.push_back(topology_node_of(node));
  const Result<plan::Topology> topology = topology_of(site.topology, asked);
  if (!topology) {
    spdlog::warn("topology: {}", topology.error().message);
    return leaves;
  }
  for (const auto& [node, place] : topology->nodes)
    if (!place.leaf.empty()) leaves[node] = place.leaf;
  return leaves;
}

}  // namespace railgauge

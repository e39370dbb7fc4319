#include "controller/plan/topology/topology.h"

namespace railgauge::plan {

// A missing pod counts as another pod.
DistanceClass distance_between(const Topology& topology, const std::string& a,
                               const std::string& b) {
  if (a == b) return DistanceClass::kNone;
  const auto first = topology.nodes.find(a);
  const auto second = topology.nodes.find(b);
  if (first == topology.nodes.end() || second == topology.nodes.end() ||
      first->second.leaf.empty() || second->second.leaf.empty())
    return DistanceClass::kUnknown;
  if (first->second.leaf == second->second.leaf) return DistanceClass::kLeaf;
  const bool one_pod = first->second.pod == second->second.pod && !first->second.pod.empty();
  return one_pod ? DistanceClass::kPod : DistanceClass::kFabric;
}

}  // namespace railgauge::plan

#include "controller/upgrades/upgrade_cohorts.h"

#include <algorithm>
#include <map>

namespace railgauge {
namespace {

constexpr std::size_t kOneIn = 20;

}  // namespace

std::vector<Cohort> stable_cohorts(std::span<const MovedNode> moved, double now, double long_ago) {
  struct Group {
    std::vector<std::string> nodes{};
    double newest = 0;
  };
  std::map<std::string, Group> groups;
  for (const MovedNode& node : moved) {
    if (now - node.since > long_ago) continue;
    Group& group = groups[node.to];
    group.newest = std::max(group.newest, node.since);
    if (!node.handled) group.nodes.push_back(node.node);
  }
  std::vector<Cohort> out;
  for (auto& [to, group] : groups) {
    if (group.nodes.empty() || now - group.newest < kStableSeconds) continue;
    std::ranges::sort(group.nodes);
    out.push_back({.nodes = std::move(group.nodes), .to = to});
  }
  return out;
}

std::size_t most_at_once(std::size_t attached) {
  return std::max<std::size_t>(1, attached / kOneIn);
}

}  // namespace railgauge

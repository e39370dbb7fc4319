#include "controller/plan/policy/partners.h"

#include <algorithm>
#include <map>
#include <set>

namespace railgauge::plan {
namespace {

// The nodes with those of each leaf in turn.
std::vector<const PartnerNode*> leaf_by_leaf(std::vector<const PartnerNode*> nodes) {
  std::map<std::string, std::size_t> on_leaf;
  std::map<const PartnerNode*, std::size_t> turn;
  for (const PartnerNode* node : nodes) turn[node] = on_leaf[node->leaf]++;
  std::ranges::stable_sort(nodes, {}, [&](const PartnerNode* node) { return turn[node]; });
  return nodes;
}

}  // namespace

// Those of the same hardware first; others only where there are too few.
std::vector<std::string> choose_partners(std::span<const PartnerNode> proved,
                                         std::span<const PartnerNode> good) {
  std::set<std::string> taken;
  std::map<std::string, std::size_t> wanted;
  for (const PartnerNode& node : proved) {
    taken.insert(node.name);
    ++wanted[node.hardware];
  }
  std::vector<std::string> partners;
  const auto take = [&](std::size_t most, const auto& is_wanted) {
    std::vector<const PartnerNode*> nodes;
    for (const PartnerNode& node : good)
      if (!taken.contains(node.name) && is_wanted(node)) nodes.push_back(&node);
    for (const PartnerNode* node : leaf_by_leaf(std::move(nodes))) {
      if (most == 0) return;
      --most;
      taken.insert(node->name);
      partners.push_back(node->name);
    }
  };
  for (const auto& kind : wanted)
    take(std::clamp(kind.second, kFewestPartners, kMostPartners),
         [&](const PartnerNode& node) { return node.hardware == kind.first; });
  if (partners.size() < kFewestPartners)
    take(kFewestPartners - partners.size(), [](const PartnerNode&) { return true; });
  return partners;
}

}  // namespace railgauge::plan

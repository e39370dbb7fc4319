#include "controller/verdict/causes.h"

#include <algorithm>
#include <map>

#include "controller/stats/distributions.h"

namespace railgauge::analysis {
namespace {

// Shares of affected nodes among exposed and unexposed ones at which a change explains a
// regression.
constexpr double kMostExposed = 0.8;
constexpr double kFewUnexposed = 0.05;
constexpr std::size_t kSeparators = 2;
constexpr char kYes = 'y';
constexpr char kNo = 'n';

// `exposed` has a letter for each node: kYes where the node has the change.
Cause cause_of(const std::string& exposed, std::span<const ExposedNode> nodes) {
  Cause cause;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool has = exposed[i] == kYes;
    ++(has ? cause.exposed : cause.unexposed);
    if (nodes[i].affected) ++(has ? cause.exposed_affected : cause.unexposed_affected);
    if (has && nodes[i].affected && cause.separators.size() < kSeparators)
      cause.separators.push_back(nodes[i].node);
  }
  // As many of the affected exposed, or more, when it is chance which nodes are affected.
  cause.p = hypergeometric_upper_tail(cause.exposed_affected,
                                      cause.exposed_affected + cause.unexposed_affected,
                                      cause.exposed, nodes.size());
  const auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  cause.explains = share(cause.exposed_affected, cause.exposed) >= kMostExposed &&
                   share(cause.unexposed_affected, cause.unexposed) <= kFewUnexposed;
  return cause;
}

}  // namespace

std::vector<Cause> likely_causes(std::span<const ExposedNode> nodes) {
  std::set<std::string> changes;
  for (const ExposedNode& node : nodes) changes.insert(node.changes.begin(), node.changes.end());
  // Changes on the same nodes are one cause.
  std::map<std::string, Cause> causes;
  for (const std::string& change : changes) {
    // A letter for each node.
    std::string exposed;
    for (const ExposedNode& node : nodes) exposed += node.changes.contains(change) ? kYes : kNo;
    auto [place, is_new] = causes.try_emplace(exposed);
    if (is_new) place->second = cause_of(exposed, nodes);
    place->second.changes.push_back(change);
  }
  std::vector<Cause> sorted;
  for (auto& [exposed, cause] : causes) sorted.push_back(std::move(cause));
  std::ranges::stable_sort(sorted, [](const Cause& a, const Cause& b) {
    if (a.explains != b.explains) return a.explains;
    if (a.p != b.p) return a.p < b.p;
    return a.changes < b.changes;
  });
  for (Cause& cause : sorted)
    if (cause.changes.size() < 2) cause.separators.clear();
  return sorted;
}

}  // namespace railgauge::analysis

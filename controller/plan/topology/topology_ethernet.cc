// Readers of topologies from neighbours' reports (LLDP) and from measured latency.
// topology_sources.h declares them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "controller/plan/topology/topology_sources.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

// A gap between latencies counts where the upper is so many times the lower.
constexpr double kClearGap = 1.15;
// Number of gaps that are tried.
constexpr std::size_t kMaxGaps = 16;
constexpr std::size_t kMaxLatencyNodes = 20'000;

// "gpu001: lldp.eth2.chassis.name=leaf7": node, interface and chassis; empty for other lines.
struct Neighbour {
  std::string_view node{};
  std::string_view interface {};
  std::string_view chassis{};
};
Neighbour neighbour_of(std::string_view line) {
  constexpr std::string_view kPrefix = "lldp.";
  constexpr std::string_view kKey = ".chassis.name";
  const std::size_t colon = line.find(':');
  const std::size_t equals = line.find('=');
  if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon)
    return {};
  std::string_view key = trimmed(line.substr(colon + 1, equals - colon - 1));
  const std::string_view chassis = trimmed(line.substr(equals + 1));
  if (!key.starts_with(kPrefix) || !key.ends_with(kKey) || chassis.empty() ||
      key.size() <= kPrefix.size() + kKey.size())
    return {};
  key.remove_prefix(kPrefix.size());
  key.remove_suffix(kKey.size());
  return {.node = trimmed(line.substr(0, colon)), .interface = key, .chassis = chassis};
}

// One measured pair, by node numbers.
struct Latency {
  std::size_t a;
  std::size_t b;
  double ns;
};

// The middles of the clear gaps between neighbouring latencies, the widest first.
std::vector<double> gaps_in(std::span<const Latency> sorted) {
  // Width of each gap as a ratio, and its middle in nanoseconds.
  std::vector<std::pair<double, double>> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (const double ratio = sorted[i].ns / sorted[i - 1].ns; ratio >= kClearGap)
      gaps.emplace_back(ratio, std::sqrt(sorted[i].ns * sorted[i - 1].ns));
  std::ranges::sort(gaps, std::ranges::greater{});
  std::vector<double> middles;
  for (const auto& [ratio, middle] : gaps)
    if (middles.size() < kMaxGaps) middles.push_back(middle);
  return middles;
}

// Groups of nodes that are joined by latencies below the limit; nothing where such a group has a
// farther pair in it, where there is one group, or no group of two.
std::optional<std::vector<std::size_t>> groups_of(std::size_t nodes,
                                                  std::span<const Latency> latencies,
                                                  double limit_ns) {
  std::vector<std::size_t> group(nodes);
  std::iota(group.begin(), group.end(), 0U);
  const auto root = [&](std::size_t i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
  };
  bool two = false;
  for (const Latency& one : latencies) {
    if (one.ns > limit_ns) continue;
    two = true;
    const std::size_t a = root(one.a);
    const std::size_t b = root(one.b);
    group[std::max(a, b)] = std::min(a, b);
  }
  bool apart = false;
  for (const Latency& one : latencies) {
    if (one.ns <= limit_ns) continue;
    if (root(one.a) == root(one.b)) return std::nullopt;
    apart = true;
  }
  if (!two || !apart) return std::nullopt;
  for (std::size_t i = 0; i < nodes; ++i) group[i] = root(i);
  return group;
}

}  // namespace

// The leaf of a node is the chassis behind its port with the lowest PCI address.
Result<Topology> topology_from_lldp(std::string_view text, std::span<const TopologyNode> nodes) {
  const NodeFinder finder(nodes);
  std::map<std::string, const TopologyNode*> by_name;
  for (const TopologyNode& node : nodes) by_name[node.name] = &node;
  // By node: the chassis behind its first RDMA port; without such a port the first one reported.
  std::map<std::string, std::pair<std::size_t, std::string>> chosen;
  for (const std::string_view line : lines_of(text)) {
    const Neighbour one = neighbour_of(line);
    const std::string node = one.node.empty() ? "" : finder.by_name(one.node);
    if (node.empty()) continue;
    const auto& netdevs = by_name[node]->netdevs;
    const auto place =
        static_cast<std::size_t>(std::ranges::find(netdevs, one.interface) - netdevs.begin());
    const std::pair candidate(place, std::string(one.chassis));
    const auto [found, is_new] = chosen.emplace(node, candidate);
    if (!is_new && place < found->second.first) found->second = candidate;
  }
  Topology topology{.source = "lldp"};
  for (const auto& [node, chassis] : chosen)
    topology.nodes[node] = {.leaf = chassis.second,
                            .order = static_cast<std::uint32_t>(topology.nodes.size())};
  return checked(std::move(topology), nodes);
}

// Tries the widest gap first; a gap counts only where it separates groups cleanly.
Result<Topology> topology_from_latency(std::string_view text, std::span<const TopologyNode> nodes) {
  if (nodes.size() > kMaxLatencyNodes)
    return fail(Code::kInvalidArgument,
                fmt::format("topology latency: more than {} nodes", kMaxLatencyNodes));
  std::map<std::string, std::size_t, std::less<>> numbers;
  for (const TopologyNode& node : nodes) numbers.emplace(node.name, numbers.size());
  std::vector<Latency> latencies;
  for (const std::string_view line : lines_of(text)) {
    const auto cells = pieces_of(line, ',');
    if (cells.size() < 3) continue;
    const auto a = numbers.find(trimmed(cells[0]));
    const auto b = numbers.find(trimmed(cells[1]));
    const auto ns = parse_number(trimmed(cells[2]));
    if (a == numbers.end() || b == numbers.end() || a == b || !ns || *ns <= 0) continue;
    latencies.push_back({.a = a->second, .b = b->second, .ns = *ns});
  }
  std::ranges::sort(latencies, {}, &Latency::ns);
  std::set<std::size_t> measured;
  for (const Latency& one : latencies) measured.insert({one.a, one.b});
  for (const double limit_ns : gaps_in(latencies)) {
    const auto groups = groups_of(nodes.size(), latencies, limit_ns);
    if (!groups) continue;
    Topology topology{.source = "latency"};
    for (const std::size_t i : measured)
      topology.nodes[nodes[i].name] = {.leaf = fmt::format("near_{}", nodes[(*groups)[i]].name),
                                       .order = static_cast<std::uint32_t>(i)};
    return topology;
  }
  return fail(
      Code::kInvalidArgument,
      fmt::format("topology latency: {} latencies show no leaves: no clear gap (a factor of "
                  "{:g}) parts near pairs from far ones",
                  latencies.size(), kClearGap));
}

}  // namespace railgauge::plan

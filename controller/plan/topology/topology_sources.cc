#include "controller/plan/topology/topology_sources.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"

namespace railgauge::plan {
namespace {

using Reader = Result<Topology> (*)(std::string_view, std::span<const TopologyNode>);
// The sources that are text of another program alone; labels need the names of theirs too.
constexpr std::array<std::pair<std::string_view, Reader>, 5> kReaders{
    {{"slurm", topology_from_slurm},
     {"ibnetdiscover", topology_from_ibnetdiscover},
     {"iblinkinfo", topology_from_iblinkinfo},
     {"lldp", topology_from_lldp},
     {"latency", topology_from_latency}}};

constexpr std::size_t kGuidDigits = 16;

// Returns a GUID's hex digits in lower case; "" for another text.
std::string plain_guid(std::string_view guid) {
  if (guid.starts_with("0x") || guid.starts_with("0X")) guid.remove_prefix(2);
  std::string out;
  for (const char c : guid) {
    if (c == ':') continue;
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!((lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f'))) return "";
    out.push_back(lower);
  }
  return out.size() == kGuidDigits ? out : "";
}

// The host part of a domain name.
std::string_view short_name(std::string_view name) { return name.substr(0, name.find('.')); }

// Sets of leaves that have a switch above in common: a number for each leaf.
class Unions {
 public:
  explicit Unions(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::size_t> parent_;
};

// The pod of each leaf by key; nothing where all leaves are in one.
std::map<std::string, std::string> pods_of(const SwitchGraph& graph) {
  std::map<std::string, std::size_t> leaves;
  for (const auto& [key, one] : graph.switches)
    if (!one.nodes.empty()) leaves.emplace(key, leaves.size());
  Unions unions(leaves.size());
  std::map<std::string, std::size_t> first_below;
  for (const auto& [key, number] : leaves)
    for (const auto& [above, links] : graph.switches.at(key).switches) {
      if (const auto leaf = leaves.find(above); leaf != leaves.end()) {
        unions.join(number, leaf->second);
        continue;
      }
      const auto [found, is_new] = first_below.emplace(above, number);
      if (!is_new) unions.join(number, found->second);
    }
  std::map<std::size_t, std::string> names;
  std::map<std::string, std::string> pods;
  for (const auto& [key, number] : leaves) {
    const auto [name, is_new] =
        names.emplace(unions.root(number), fmt::format("pod{}", names.size() + 1));
    pods[key] = name->second;
  }
  return names.size() > 1 ? pods : std::map<std::string, std::string>{};
}

}  // namespace

std::span<const std::string> topology_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all{"labels"};
    for (const auto& [word, read] : kReaders) all.emplace_back(word);
    return all;
  }();
  return words;
}

// Full names replace short ones where both are equal.
NodeFinder::NodeFinder(std::span<const TopologyNode> nodes) {
  for (const TopologyNode& node : nodes) {
    for (const std::string& guid : node.guids)
      if (const std::string plain = plain_guid(guid); !plain.empty()) guids_[plain] = node.name;
    names_.emplace(short_name(node.name), node.name);
  }
  // A full name wins over a short one.
  for (const TopologyNode& node : nodes) names_[node.name] = node.name;
}

std::string NodeFinder::by_guid(std::string_view guid) const {
  return value_of(guids_, plain_guid(guid));
}

std::string NodeFinder::by_name(std::string_view name) const {
  auto found = names_.find(name);
  if (found == names_.end()) found = names_.find(short_name(name));
  return found == names_.end() ? "" : found->second;
}

// A name that several switches have is completed by the key.
Topology topology_of(const SwitchGraph& graph, std::string source) {
  Topology topology{.source = std::move(source)};
  const std::map<std::string, std::string> pods = pods_of(graph);
  std::map<std::string, std::size_t> names;
  for (const auto& [key, one] : graph.switches) ++names[one.name];
  for (const auto& [key, one] : graph.switches) {
    if (one.nodes.empty()) continue;
    const bool is_unique = !one.name.empty() && names[one.name] == 1;
    const std::string leaf = is_unique          ? one.name
                             : one.name.empty() ? key
                                                : fmt::format("{} {}", one.name, key);
    const auto pod = pods.find(key);
    std::uint32_t order = 0;
    for (const std::string& node : one.nodes)
      topology.nodes.emplace(
          node,
          NodePlace{.leaf = leaf, .pod = pod == pods.end() ? "" : pod->second, .order = order++});
    for (const auto& [other, links] : one.switches) topology.uplinks[leaf] += links;
  }
  return topology;
}

Result<Topology> checked(Topology topology, std::span<const TopologyNode> nodes) {
  const bool any = std::ranges::any_of(
      nodes, [&](const TopologyNode& node) { return topology.nodes.contains(node.name); });
  if (any) return topology;
  return fail(Code::kInvalidArgument,
              fmt::format("topology {}: names none of the {} nodes; is it this fabric's",
                          topology.source, nodes.size()));
}

// Unknown words are errors; an empty word means no topology.
Result<Topology> read_topology(const TopologySource& source, std::string_view text,
                               std::span<const TopologyNode> nodes) {
  if (source.source.empty()) return Topology{};
  if (text.size() > kMaxTopologyBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("topology {}: more than {} bytes", source.source, kMaxTopologyBytes));
  if (source.source == "labels") return topology_from_labels(source, text, nodes);
  for (const auto& [word, read] : kReaders)
    if (source.source == word) return read(text, nodes);
  return fail(Code::kInvalidArgument, fmt::format("topology: {} is no source", source.source));
}

}  // namespace railgauge::plan

// Readers of topologies that people wrote: labels and Slurm's files. topology_sources.h declares
// them.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "controller/plan/topology/node_set.h"
#include "controller/plan/topology/topology_sources.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/text/lines.h"

namespace railgauge::plan {
namespace {

// ASCII lower case, independent of the locale.
std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// The names of a set without exclusions; none where it is not one.
std::vector<std::string> expand(std::string_view text) {
  const auto set = parse_node_set(text);
  std::vector<std::string> names;
  if (set)
    for (const NodeSet::Item& item : set->included)
      names.insert(names.end(), item.names.begin(), item.names.end());
  return names;
}

// "key=value", the key in lower case.
std::map<std::string, std::string> pairs_in(std::span<const std::string_view> words) {
  std::map<std::string, std::string> out;
  for (const std::string_view word : words) {
    const std::size_t at = word.find('=');
    if (at != std::string_view::npos && at > 0)
      out.emplace(lower(word.substr(0, at)), word.substr(at + 1));
  }
  return out;
}

// Lines without comments; a line that ends in a backslash continues in the next one.
std::vector<std::string> joined_lines(std::string_view text) {
  std::vector<std::string> out;
  bool goes_on = false;
  for (const std::string_view line : lines_of(text)) {
    std::string_view content = trimmed(without_comment(line));
    const bool more = content.ends_with('\\');
    if (more) content.remove_suffix(1);
    if (goes_on)
      (out.back() += ' ') += content;
    else
      out.emplace_back(content);
    goes_on = more;
  }
  return out;
}

// One switch or block of topology.conf.
struct SlurmSwitch {
  std::vector<std::string> nodes{};
  std::vector<std::string> below{};
};

// The switch directly above each switch that has nodes.
std::map<std::string, std::string> parents_of(const std::map<std::string, SlurmSwitch>& switches) {
  std::map<std::string, std::string> parents;
  for (const auto& [name, one] : switches)
    for (const std::string& below : one.below) {
      const auto leaf = switches.find(below);
      if (leaf != switches.end() && !leaf->second.nodes.empty()) parents.emplace(below, name);
    }
  return parents;
}

}  // namespace

// A text wins over the nodes' own labels.
Result<Topology> topology_from_labels(const TopologySource& source, std::string_view text,
                                      std::span<const TopologyNode> nodes) {
  Topology topology{.source = "labels"};
  const NodeFinder finder(nodes);
  const auto add = [&](const std::string& node, const std::string& leaf, const std::string& pod) {
    if (!node.empty() && !leaf.empty())
      topology.nodes.emplace(node,
                             NodePlace{.leaf = leaf,
                                       .pod = pod,
                                       .order = static_cast<std::uint32_t>(topology.nodes.size())});
  };
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(without_comment(line));
    if (words.size() < 2) continue;
    const auto labels = pairs_in(std::span(words).subspan(1));
    for (const std::string& name : expand(words.front()))
      add(finder.by_name(name), value_of(labels, lower(source.leaf_label)),
          value_of(labels, lower(source.pod_label)));
  }
  if (trimmed(text).empty())
    for (const TopologyNode& node : nodes)
      add(node.name, value_of(node.labels, source.leaf_label),
          value_of(node.labels, source.pod_label));
  return checked(std::move(topology), nodes);
}

// A label without a value marks by its key alone, which no selector names.
std::map<std::string, Labels> labels_of_nodes(std::string_view text,
                                              std::span<const TopologyNode> nodes,
                                              std::vector<std::string>& skipped) {
  std::map<std::string, Labels> all;
  const NodeFinder finder(nodes);
  for (const std::string_view line : lines_of(text)) {
    const auto words = words_of(without_comment(line));
    if (words.size() < 2) continue;
    Labels labels;
    for (const std::string_view word : std::span(words).subspan(1)) {
      if (word.ends_with('=')) continue;
      auto label = parse_label(word);
      if (label)
        labels.insert_or_assign(label->first, label->second);
      else
        skipped.push_back(fmt::format("{}: {}", words.front(), word));
    }
    for (const std::string& name : expand(words.front()))
      if (const std::string node = finder.by_name(name); !node.empty())
        for (const auto& [key, value] : labels) all[node].insert_or_assign(key, value);
  }
  return all;
}

// A pod is the switch directly above leaves, where there is more than one.
Result<Topology> topology_from_slurm(std::string_view text, std::span<const TopologyNode> nodes) {
  std::map<std::string, SlurmSwitch> switches;
  for (const std::string& line : joined_lines(text)) {
    const auto words = words_of(line);
    const auto values = pairs_in(words);
    std::string name = value_of(values, "switchname");
    if (name.empty()) name = value_of(values, "blockname");
    if (name.empty()) continue;
    SlurmSwitch& one = switches[name];
    // scontrol lists all nodes below a switch of any level; a leaf is a switch without switches
    // below.
    one.below = expand(value_of(values, "switches"));
    if (one.below.empty()) one.nodes = expand(value_of(values, "nodes"));
  }
  const auto parents = parents_of(switches);
  std::set<std::string> pods;
  for (const auto& [leaf, parent] : parents) pods.insert(parent);
  Topology topology{.source = "slurm"};
  const NodeFinder finder(nodes);
  for (const auto& [name, one] : switches) {
    std::uint32_t order = 0;
    for (const std::string& node : one.nodes)
      if (const std::string known = finder.by_name(node); !known.empty())
        topology.nodes.emplace(known,
                               NodePlace{.leaf = name,
                                         .pod = pods.size() > 1 ? value_of(parents, name) : "",
                                         .order = order++});
  }
  return checked(std::move(topology), nodes);
}

}  // namespace railgauge::plan

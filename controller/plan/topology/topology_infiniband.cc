// Readers of the output of InfiniBand's diagnostic programs. topology_sources.h declares them.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "controller/plan/topology/topology_sources.h"
#include "kernels/core/text/lines.h"

namespace railgauge::plan {
namespace {

// The part of a switch's description that a person gave it: "leaf1" in "MF0;leaf1:MQM9700/U1".
std::string switch_name(std::string_view description) {
  const std::size_t from = description.find(';');
  if (from == std::string_view::npos) return std::string(trimmed(description));
  description.remove_prefix(from + 1);
  return std::string(trimmed(description.substr(0, description.find(':'))));
}

// A host's description begins with its name: "gpu001 mlx5_0".
std::string host_of(const NodeFinder& finder, std::string_view guid, std::string_view description) {
  std::string node = finder.by_guid(guid);
  const auto words = words_of(description);
  return node.empty() && !words.empty() ? finder.by_name(words.front()) : node;
}

// A node with several ports on a switch is added once.
void add_node(SwitchGraph::Switch& to, const std::string& node) {
  if (!node.empty() && std::ranges::find(to.nodes, node) == to.nodes.end())
    to.nodes.push_back(node);
}

// The text in parentheses after `at`; empty where there are none.
std::string_view in_parentheses(std::string_view line, std::size_t at) {
  const std::size_t open = line.find('(', at);
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find(')', open);
  return close == std::string_view::npos ? std::string_view{}
                                         : line.substr(open + 1, close - open - 1);
}

// Parts of `[1] "H-b8ce..."[1](b8ce...)  # "gpu001 mlx5_0" lid 5`: the peer, the GUID of its port,
// its description.
struct PortLine {
  std::string_view peer{};
  std::string_view guid{};
  std::string_view description{};
};
PortLine port_line(std::string_view line) {
  const std::size_t hash = line.find('#');
  const std::string_view link = line.substr(0, hash);
  PortLine out{.peer = quoted_in(link)};
  const std::size_t end =
      out.peer.empty() ? std::string_view::npos : link.find(out.peer) + out.peer.size();
  if (end != std::string_view::npos) out.guid = in_parentheses(link, end);
  if (hash != std::string_view::npos) out.description = quoted_in(line, hash);
  return out;
}

// "S-b8cef60300e2ae4a" and "H-...": the kind and the GUID.
bool is_switch(std::string_view id) { return id.starts_with("S-"); }
bool is_host(std::string_view id) { return id.starts_with("H-"); }

// The part of an iblinkinfo line after the arrow, with its quoted description.
std::string_view beyond_arrow(std::string_view line) {
  const std::size_t at = line.find("==>");
  return at == std::string_view::npos ? std::string_view{} : line.substr(at + 3);
}

// "Switch: 0xb8ce... MF0;leaf1:MQM9700/U1:" or "CA: gpu001 mlx5_0:": what follows the word.
std::string_view heading(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return {};
  std::string_view rest = trimmed(line.substr(word.size()));
  if (rest.ends_with(':')) rest.remove_suffix(1);
  return rest;
}

// Descriptions of all switches: a link's other end is a host when its description is not among
// them.
std::map<std::string, std::string, std::less<>> switches_in(std::string_view text) {
  std::map<std::string, std::string, std::less<>> guids;
  for (const std::string_view line : lines_of(text)) {
    const std::string_view head = heading(line, "Switch:");
    const std::size_t space = head.find(' ');
    if (!head.empty() && space != std::string_view::npos)
      guids.emplace(trimmed(head.substr(space)), head.substr(0, space));
  }
  return guids;
}

}  // namespace

// Sections of switches name their ports' peers; sections of hosts are skipped.
Result<Topology> topology_from_ibnetdiscover(std::string_view text,
                                             std::span<const TopologyNode> nodes) {
  const NodeFinder finder(nodes);
  SwitchGraph graph;
  SwitchGraph::Switch* current = nullptr;
  for (const std::string_view line : lines_of(text)) {
    if (line.starts_with("Switch")) {
      const std::string_view id = quoted_in(line);
      current = is_switch(id) ? &graph.switches[std::string(id)] : nullptr;
      const std::size_t hash = line.find('#');
      if (current != nullptr && hash != std::string_view::npos)
        current->name = switch_name(quoted_in(line, hash));
      continue;
    }
    if (!line.starts_with('[')) {
      if (line.starts_with("Ca") || line.starts_with("Rt")) current = nullptr;
      continue;
    }
    if (current == nullptr) continue;
    const PortLine port = port_line(line);
    if (is_switch(port.peer)) ++current->switches[std::string(port.peer)];
    if (!is_host(port.peer)) continue;
    std::string node = finder.by_guid(port.guid);
    if (node.empty()) node = host_of(finder, port.peer.substr(2), port.description);
    add_node(*current, node);
  }
  if (graph.switches.empty())
    return fail(Code::kInvalidArgument,
                "topology ibnetdiscover: no line begins a switch; is it that program's output");
  return checked(topology_of(graph, "ibnetdiscover"), nodes);
}

// Links are seen from both ends, so that a host is found even where only one section names it.
Result<Topology> topology_from_iblinkinfo(std::string_view text,
                                          std::span<const TopologyNode> nodes) {
  const NodeFinder finder(nodes);
  const auto guids = switches_in(text);
  SwitchGraph graph;
  for (const auto& [description, guid] : guids)
    graph.switches[guid].name = switch_name(description);
  SwitchGraph::Switch* current = nullptr;
  bool in_host = false;
  for (const std::string_view line : lines_of(text)) {
    if (const std::string_view head = heading(line, "Switch:"); !head.empty()) {
      current = &graph.switches[std::string(head.substr(0, head.find(' ')))];
      in_host = false;
    } else if (!heading(line, "CA:").empty()) {
      current = nullptr;
      in_host = true;
    }
    const std::string_view description = quoted_in(beyond_arrow(line));
    if (description.empty()) continue;
    const auto other = guids.find(description);
    if (current != nullptr && other != guids.end()) ++current->switches[other->second];
    if (current != nullptr && other == guids.end())
      add_node(*current, host_of(finder, "", description));
    // In a host's own section its port's GUID begins the line, and the host is connected to that
    // switch.
    const auto words = words_of(line);
    if (in_host && other != guids.end() && !words.empty())
      add_node(graph.switches[other->second], finder.by_guid(words.front()));
  }
  if (graph.switches.empty())
    return fail(Code::kInvalidArgument,
                "topology iblinkinfo: no line begins a switch; is it that program's output");
  return checked(topology_of(graph, "iblinkinfo"), nodes);
}

}  // namespace railgauge::plan

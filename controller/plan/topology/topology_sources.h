// Readers of topologies from the output of other programs. Each reader takes text, opens no file,
// and skips lines of unknown form. kInvalidArgument, in one line: the text as a whole has another
// form, or names none of the nodes. Pure; thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/topology/topology.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/labels.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxTopologyBytes = 256U << 20U;

// Names that a source may use for a node.
struct TopologyNode {
  std::string name{};
  // GUIDs of ports, 16 hex digits: "0xb8ce..." or "b8ce:...".
  std::vector<std::string> guids{};
  // Network devices of RDMA ports, sorted by PCI address.
  std::vector<std::string> netdevs{};
  // Labels that the node reports as facts.
  std::map<std::string, std::string> labels{};
};

// The mapping `topology:` of a site profile.
struct TopologySource {
  // A word of topology_words(); "": none.
  std::string source{};
  // File of the text; "" for labels that the nodes report.
  std::string file{};
  std::string leaf_label = "leaf";
  std::string pod_label = "pod";
  bool operator==(const TopologySource&) const = default;
};
// Returns "labels", "slurm", "ibnetdiscover", "iblinkinfo", "lldp" and "latency".
std::span<const std::string> topology_words();

// Reads the text of the source that `source` names; "" gives an empty topology.
Result<Topology> read_topology(const TopologySource& source, std::string_view text,
                               std::span<const TopologyNode> nodes);

// Reads lines of `NODES key=value ...` with a node set like gpu[001-016]; an empty text means the
// labels that the nodes report.
Result<Topology> topology_from_labels(const TopologySource& source, std::string_view text,
                                      std::span<const TopologyNode> nodes);
// Reads the same lines as labels of the given nodes, by name. A label that no selector could name
// is left out and added to `skipped`, as "NODES: key=value".
std::map<std::string, Labels> labels_of_nodes(std::string_view text,
                                              std::span<const TopologyNode> nodes,
                                              std::vector<std::string>& skipped);
// Reads topology.conf or the output of `scontrol show topology`, for the plugins tree and block.
Result<Topology> topology_from_slurm(std::string_view text, std::span<const TopologyNode> nodes);
// Reads the output of `ibnetdiscover`.
Result<Topology> topology_from_ibnetdiscover(std::string_view text,
                                             std::span<const TopologyNode> nodes);
// Reads the output of `iblinkinfo`.
Result<Topology> topology_from_iblinkinfo(std::string_view text,
                                          std::span<const TopologyNode> nodes);
// Reads the output of `lldpctl -f keyvalue` of each node, each line after the node's name and a
// colon, as clush and pdsh print it.
Result<Topology> topology_from_lldp(std::string_view text, std::span<const TopologyNode> nodes);
// Reads lines of `node,node,latency_ns`, one or two for each pair. Nodes with a latency below a
// clear gap in all latencies are placed on one leaf.
Result<Topology> topology_from_latency(std::string_view text, std::span<const TopologyNode> nodes);

// Index of nodes by the names that a source uses.
class NodeFinder {
 public:
  explicit NodeFinder(std::span<const TopologyNode> nodes);
  // Return a node's name, by a port's GUID or by a name; a host's name also matches by its part
  // before the first dot. "": none of the nodes matches.
  [[nodiscard]] std::string by_guid(std::string_view guid) const;
  [[nodiscard]] std::string by_name(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> guids_;
};

// Switches, the links between them, and the nodes on each switch.
struct SwitchGraph {
  struct Switch {
    // Name for people; "": the key is used.
    std::string name{};
    // By key of the other switch: the number of links.
    std::map<std::string, std::uint32_t> switches{};
    // Node names in the order of ports.
    std::vector<std::string> nodes{};
  };
  // By GUID or other key.
  std::map<std::string, Switch> switches{};
};
// Derives leaves and pods from the graph. A node with ports on several leaves (rails) belongs to
// the first of them in the order of keys: nodes that share all leaves share this one too. A pod is
// a set of leaves with a common upper switch or a link; pods exist only with at least two such
// sets.
Topology topology_of(const SwitchGraph& graph, std::string source);
// Returns the topology unchanged. kInvalidArgument: no chosen node has a place.
Result<Topology> checked(Topology topology, std::span<const TopologyNode> nodes);

}  // namespace railgauge::plan

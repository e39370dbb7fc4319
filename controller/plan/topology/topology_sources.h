// Topologies from the output of other programs. Each reader takes text, knows no files, and skips
// lines that it does not understand. kInvalidArgument, in one line, where the text as a whole is of
// another kind or names none of the nodes. Pure; thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/topology/topology.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxTopologyBytes = 256U << 20U;

// Names by which a source may know a node.
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
  // File of the text; empty with labels of the nodes themselves.
  std::string file{};
  std::string leaf_label = "leaf";
  std::string pod_label = "pod";
  bool operator==(const TopologySource&) const = default;
};
// "labels", "slurm", "ibnetdiscover", "iblinkinfo", "lldp", "latency".
std::span<const std::string> topology_words();

// By the source's word; "" gives an empty topology.
Result<Topology> read_topology(const TopologySource& source, std::string_view text,
                               std::span<const TopologyNode> nodes);

// Lines of `NODES key=value ...`, NODES a set like gpu[001-016]; without text the nodes' own
// labels.
Result<Topology> topology_from_labels(const TopologySource& source, std::string_view text,
                                      std::span<const TopologyNode> nodes);
// topology.conf, or what `scontrol show topology` prints; tree and block.
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
// Lines of `node,node,latency_ns`, one for each pair or two: nodes that are nearer to each other
// than a clear gap in the latencies are taken for one leaf.
Result<Topology> topology_from_latency(std::string_view text, std::span<const TopologyNode> nodes);

// Finds nodes by the names that a source uses.
class NodeFinder {
 public:
  explicit NodeFinder(std::span<const TopologyNode> nodes);
  // By a port's GUID, then by name; of a host's name the part before the first dot counts too. ""
  // where it is none of the nodes.
  [[nodiscard]] std::string by_guid(std::string_view guid) const;
  [[nodiscard]] std::string by_name(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> names_;
  std::map<std::string, std::string, std::less<>> guids_;
};

// Switches, the links between them, and which node hangs on which.
struct SwitchGraph {
  struct Switch {
    // Name for people; the key where it is "".
    std::string name{};
    // By key of the other switch: the number of links.
    std::map<std::string, std::uint32_t> switches{};
    // Node names in the order of ports.
    std::vector<std::string> nodes{};
  };
  // By GUID or other key.
  std::map<std::string, Switch> switches{};
};
// A node with ports on several leaves (rails) is counted to the one that it is first found on, in
// the order of keys: nodes that share all leaves share that one too. Pods are leaves with a switch
// above in common, or a link, where there are at least two such sets.
Topology topology_of(const SwitchGraph& graph, std::string source);
// kInvalidArgument where no chosen node has a place.
Result<Topology> checked(Topology topology, std::span<const TopologyNode> nodes);

}  // namespace railgauge::plan

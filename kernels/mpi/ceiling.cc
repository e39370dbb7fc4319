#include "kernels/mpi/ceiling.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace railgauge::mpi {
namespace {

// The contents of an all-to-all between more ranks would take seconds to count.
constexpr std::size_t kMostRanks = 1024;

// One rank's need, at another node, of what these ranks have.
class Needs {
 public:
  Needs(std::vector<Crossing>& nodes, double times) : nodes_(nodes), times_(times) {}

  // A content that one node sends and another gets; further ranks of that node get it there.
  void add(std::uint32_t from_node, std::uint32_t to_node, const Segment& content) {
    if (from_node == to_node) return;
    const double bytes = static_cast<double>(content.bytes) * times_;
    if (got_.emplace(to_node, content.rank, content.block).second) nodes_[to_node].in += bytes;
    if (sent_.emplace(from_node, content.rank, content.block).second)
      nodes_[from_node].out += bytes;
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  std::vector<Crossing>& nodes_;
  double times_;
  std::set<Key> got_;
  std::set<Key> sent_;
};

// The machines of the ranks, numbered in the ranks' order.
std::vector<std::uint32_t> nodes_of(std::span<const RankTraffic> ranks) {
  std::map<std::uint64_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> nodes;
  for (const RankTraffic& rank : ranks)
    nodes.push_back(numbers.try_emplace(rank.machine, static_cast<std::uint32_t>(numbers.size()))
                        .first->second);
  return nodes;
}

// A node's ports in use. Ranks that see the same interfaces count them once, with the reading that
// found most; ranks of one machine that see others add theirs.
Wire wire_of(std::span<const RankTraffic> ranks, std::span<const std::uint32_t> nodes,
             std::uint32_t node, std::string_view transport) {
  std::map<std::uint64_t, Wire> views;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (nodes[rank] != node) continue;
    Wire all;
    if (transport.find("rdma") != std::string_view::npos) all = plus(all, ranks[rank].wires.rdma);
    if (transport.find("netdev") != std::string_view::npos)
      all = plus(all, ranks[rank].wires.netdev);
    Wire& view = views[ranks[rank].network];
    if (all.ports > view.ports) view = all;
  }
  Wire node_wire;
  for (const auto& [network, view] : views) node_wire = plus(node_wire, view);
  return node_wire;
}

std::string ports_in_words(double ports) {
  return fmt::format("{:.0f} port{}", ports, ports == 1 ? "" : "s");
}

}  // namespace

std::vector<Crossing> crossings(const Operation& operation, Share share,
                                std::span<const std::uint32_t> node_of) {
  std::vector<Crossing> nodes(node_of.empty() ? 0 : *std::ranges::max_element(node_of) + 1);
  share.ranks = static_cast<std::uint32_t>(node_of.size());
  // A place of a window gets several messages in turn.
  const double times = operation.windowed
                           ? static_cast<double>(share.window) / static_cast<double>(share.places())
                           : 1;
  Needs needs(nodes, times);
  for (share.rank = 0; share.rank < share.ranks; ++share.rank)
    for (Segment content : operation.received(share)) {
      if (!operation.reduces) {
        needs.add(node_of[content.rank], node_of[share.rank], content);
        continue;
      }
      // Every node has a part of the sum.
      content.rank = 0;
      for (std::uint32_t node = 0; node < nodes.size(); ++node)
        needs.add(node, node_of[share.rank], content);
    }
  return nodes;
}

WireCeiling wire_ceiling(const Operation& operation, const Share& share, std::string_view transport,
                         std::span<const RankTraffic> ranks, double sample_ns) {
  if (transport == "unknown") return {.none = "it is unknown what carried the messages"};
  if (transport == "memory") return {.none = "memory carried the messages and declares no rate"};
  if (ranks.size() > kMostRanks)
    return {.none =
                fmt::format("the bytes between nodes are not counted above {} ranks", kMostRanks)};
  const std::vector<std::uint32_t> nodes = nodes_of(ranks);
  const std::vector<Crossing> crossing = crossings(operation, share, nodes);
  if (crossing.size() < 2) return {.none = "all ranks are on one machine"};
  WireCeiling found{.none = "no byte has to pass from node to node"};
  double least_ns = 0;
  for (std::uint32_t node = 0; node < crossing.size(); ++node) {
    const double bytes = std::max(crossing[node].in, crossing[node].out);
    if (bytes <= 0) continue;
    const auto rank = std::ranges::find(nodes, node) - nodes.begin();
    const Wire wire = wire_of(ranks, nodes, node, transport);
    if (wire.ports <= 0 || wire.without_rate > 0) {
      if (!found.ceiling)
        found.none = fmt::format("no rate of {} in use by rank {}'s node is known",
                                 ports_in_words(std::max(1.0, wire.without_rate)), rank);
      continue;
    }
    const double ns = bytes / wire.bytes_per_second * 1e9;
    if (ns <= least_ns) continue;
    least_ns = ns;
    found = {
        .ceiling = gpu::Ceiling{wire.bytes_per_second,
                                fmt::format("{} of rank {}'s node ({}), which {:.0f} B of a "
                                            "sample must pass",
                                            ports_in_words(wire.ports), rank, transport, bytes)},
        .passed = bytes / sample_ns * 1e9};
  }
  return found;
}

}  // namespace railgauge::mpi

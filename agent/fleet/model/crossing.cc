#include "agent/fleet/model/crossing.h"

#include <map>
#include <set>
#include <utility>

#include "agent/fleet/model/keyed_random.h"

namespace railgauge::fleet {
namespace {

// Adds flows of one task.
class FlowList {
 public:
  FlowList(const Scenario& scenario, std::uint64_t seed, bool is_local)
      : scenario_(&scenario), seed_(seed), is_local_(is_local) {}
  void reserve(std::size_t count) { flows_.reserve(count); }
  // `may_stay`: ranks of one node reach each other without a NIC.
  void add(const Place& from, const Place& to, bool may_stay) {
    Flow flow{.from = from, .to = to};
    flow.on_wire = !is_local_ && !(may_stay && from.node == to.node);
    flow.spine = spine_of(from, to);
    flows_.push_back(flow);
  }
  std::vector<Flow> take() { return std::move(flows_); }

 private:
  // Equal-cost paths are chosen by a hash of a flow's addresses, which differ from task to task.
  [[nodiscard]] std::uint32_t spine_of(const Place& from, const Place& to) const {
    const DrawKey key = DrawKey(seed_)
                            .with(std::uint64_t{from.node})
                            .with(std::int64_t{from.nic})
                            .with(std::uint64_t{to.node})
                            .with(std::int64_t{to.nic});
    return static_cast<std::uint32_t>(key.bits() % scenario_->fabric.spines);
  }

  const Scenario* scenario_;
  std::uint64_t seed_;
  bool is_local_;
  std::vector<Flow> flows_;
};

// Rings run rail by rail, as those of NCCL do: the ring of a rail goes from node to node, in the
// order in which the ranks name them.
void add_ring(std::span<const Place> ranks, FlowList& flows) {
  std::vector<std::uint32_t> order;
  std::map<std::uint32_t, std::size_t> index;
  for (const Place& rank : ranks)
    if (index.emplace(rank.node, order.size()).second) order.push_back(rank.node);
  for (const Place& rank : ranks) {
    Place next = rank;
    next.node = order[(index[rank.node] + 1) % order.size()];
    flows.add(rank, next, true);
  }
}

bool on_rail(const Fault& fault, const Place& place) {
  return fault.rail < 0 || fault.rail == place.nic;
}

bool is_node(std::int32_t node, const Place& place) {
  return node >= 0 && std::cmp_equal(node, place.node);
}

// Whether the fault acts on what a part sends or receives.
bool acts_on_sends(const Fault& fault) { return fault.direction != Direction::kReceives; }
bool acts_on_receives(const Fault& fault) { return fault.direction != Direction::kSends; }

// Whether one end of a flow is the part: an end's port, node or GPU.
bool is_end(const Fault& fault, const Flow& flow, const Place& place) {
  if (!is_node(fault.node, place)) return false;
  if (fault.part == Part::kPort) return flow.on_wire && fault.nic == place.nic;
  return fault.part == Part::kNode || fault.gpu == place.gpu;
}

// Whether the flow goes from `first` to `second`, by the leaves or the nodes that the fault names.
bool is_between_leaves(std::int32_t first, std::int32_t second, std::uint32_t from,
                       std::uint32_t to) {
  return std::cmp_equal(first, from) && std::cmp_equal(second, to);
}

}  // namespace

std::vector<Flow> flows_of(const Scenario& scenario, Route route, std::span<const Place> ranks,
                           std::uint32_t root, std::uint64_t seed) {
  const bool is_local =
      route == Route::kWithinGpu || route == Route::kWithHost || route == Route::kWithGpus;
  FlowList flows(scenario, seed, is_local);
  flows.reserve(ranks.size());
  const std::size_t n = ranks.size();
  const bool both = route == Route::kRound;
  switch (route) {
    case Route::kForth:
    case Route::kBack:
    case Route::kRound:
      if (n < 2) break;
      if (both || route == Route::kForth) flows.add(ranks[0], ranks[1], false);
      if (both || route == Route::kBack) flows.add(ranks[1], ranks[0], false);
      break;
    case Route::kRing:
      add_ring(ranks, flows);
      break;
    case Route::kChain:
      for (std::size_t i = 0; i < n; ++i) flows.add(ranks[i], ranks[(i + 1) % n], true);
      break;
    case Route::kPairs:
      for (std::size_t i = 0; i + 1 < n; i += 2) {
        flows.add(ranks[i], ranks[i + 1], true);
        flows.add(ranks[i + 1], ranks[i], true);
      }
      break;
    case Route::kHalves:
      for (std::size_t i = 0; i < n / 2; ++i) flows.add(ranks[i], ranks[i + n / 2], true);
      break;
    case Route::kFromRoot:
    case Route::kToRoot:
      for (std::size_t i = 0; root < n && i < n; ++i)
        if (i != root && route == Route::kFromRoot)
          flows.add(ranks[root], ranks[i], true);
        else if (i != root)
          flows.add(ranks[i], ranks[root], true);
      break;
    case Route::kAllToAll:
      break;
    case Route::kWithinGpu:
    case Route::kWithHost:
    case Route::kWithGpus:
      for (const Place& rank : ranks) flows.add(rank, rank, true);
      break;
  }
  return flows.take();
}

bool leaves_leaf(const Scenario& scenario, const Flow& flow) {
  return flow.on_wire && scenario.leaf_of(flow.from.node) != scenario.leaf_of(flow.to.node);
}

bool crosses(const Scenario& scenario, const Fault& fault, const Flow& flow) {
  const std::uint32_t from = scenario.leaf_of(flow.from.node);
  const std::uint32_t to = scenario.leaf_of(flow.to.node);
  const bool far = leaves_leaf(scenario, flow);
  const bool rail = on_rail(fault, flow.from) || on_rail(fault, flow.to);
  switch (fault.part) {
    case Part::kPort:
    case Part::kNode:
    case Part::kGpu:
      return (acts_on_sends(fault) && is_end(fault, flow, flow.from)) ||
             (acts_on_receives(fault) && is_end(fault, flow, flow.to));
    case Part::kRail:
      return flow.on_wire && flow.from.node != flow.to.node && rail;
    case Part::kLeaf:
      // A port in loopback stays below its leaf.
      return flow.on_wire && flow.from.node != flow.to.node &&
             ((acts_on_sends(fault) && std::cmp_equal(fault.leaf, from) &&
               on_rail(fault, flow.from)) ||
              (acts_on_receives(fault) && std::cmp_equal(fault.leaf, to) &&
               on_rail(fault, flow.to)));
    case Part::kTrunk:
      return far && rail &&
             ((acts_on_sends(fault) && is_between_leaves(fault.leaf, fault.to_leaf, from, to)) ||
              (acts_on_receives(fault) && is_between_leaves(fault.leaf, fault.to_leaf, to, from)));
    case Part::kUplink:
      return far && std::cmp_equal(fault.spine, flow.spine) &&
             ((acts_on_sends(fault) && std::cmp_equal(fault.leaf, from) &&
               on_rail(fault, flow.from)) ||
              (acts_on_receives(fault) && std::cmp_equal(fault.leaf, to) &&
               on_rail(fault, flow.to)));
    case Part::kSpine:
      return far && rail && std::cmp_equal(fault.spine, flow.spine);
    case Part::kPair:
      return flow.on_wire && rail &&
             ((acts_on_sends(fault) && is_node(fault.node, flow.from) &&
               is_node(fault.to_node, flow.to)) ||
              (acts_on_receives(fault) && is_node(fault.node, flow.to) &&
               is_node(fault.to_node, flow.from)));
  }
  return false;
}

// Each rank sends and receives, and some flow between two leaves takes each spine.
bool crosses_all(const Scenario& scenario, const Fault& fault, std::span<const Place> ranks) {
  std::set<std::uint32_t> nodes;
  std::set<std::uint32_t> leaves;
  bool end = false;
  for (const Place& rank : ranks) {
    const bool is_other = !nodes.contains(rank.node);
    if (is_other) leaves.insert(scenario.leaf_of(rank.node));
    nodes.insert(rank.node);
    end = end || is_end(fault, Flow{.from = rank, .to = rank}, rank);
  }
  const auto has = [](const std::set<std::uint32_t>& some, std::int32_t number) {
    return number >= 0 && some.contains(static_cast<std::uint32_t>(number));
  };
  const bool rail =
      std::ranges::any_of(ranks, [&](const Place& rank) { return on_rail(fault, rank); });
  const bool on_wire = nodes.size() > 1 && rail;
  switch (fault.part) {
    case Part::kPort:
      return end && nodes.size() > 1;
    case Part::kNode:
    case Part::kGpu:
      return end;
    case Part::kRail:
      return on_wire;
    case Part::kLeaf:
      return on_wire && has(leaves, fault.leaf);
    case Part::kTrunk:
      return on_wire && has(leaves, fault.leaf) && has(leaves, fault.to_leaf);
    case Part::kUplink:
      return on_wire && leaves.size() > 1 && has(leaves, fault.leaf);
    case Part::kSpine:
      return on_wire && leaves.size() > 1;
    case Part::kPair:
      return on_wire && has(nodes, fault.node) && has(nodes, fault.to_node);
  }
  return false;
}

}  // namespace railgauge::fleet

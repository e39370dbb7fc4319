#include "controller/sim/fabric.h"

#include <algorithm>
#include <array>

namespace railgauge::simulator {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// The bandwidth of a healthy fabric, in bytes per second: 400 Gb/s, a little less from GPU memory.
constexpr double kBandwidth = 48.5e9;
constexpr double kGpuShare = 0.97;

bool concerns(const Element& element, const localise::Layer& layer) {
  return (element.rail < 0 || element.rail == layer.rail) &&
         (element.memory.empty() || element.memory == layer.memory);
}

bool of_node(const Element& element) {
  return element.kind == Kind::kPort || element.kind == Kind::kNode || element.kind == Kind::kPair;
}

}  // namespace

std::string_view fault_word(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return "none";
    case FaultKind::kNicSends:
      return "NIC sends";
    case FaultKind::kNicReceives:
      return "NIC receives";
    case FaultKind::kGpuPath:
      return "GPU path";
    case FaultKind::kRail:
      return "rail";
    case FaultKind::kCable:
      return "cable";
    case FaultKind::kLeaf:
      return "leaf";
    case FaultKind::kTrunk:
      return "trunk";
    case FaultKind::kSpineLink:
      return "spine link";
    case FaultKind::kNode:
      return "node";
    case FaultKind::kFlapping:
      return "flapping";
    case FaultKind::kPair:
      return "pair";
    case FaultKind::kTwo:
      return "two at once";
  }
  return "";
}

Fabric::Fabric(const FabricSpec& spec)
    : spec_(spec),
      leaves_((spec.nodes + spec.nodes_per_leaf - 1) / spec.nodes_per_leaf),
      random_(spec.seed * 0x2545F4914F6CDD1DULL + 17) {
  for (std::uint32_t node = 0; node < spec.nodes; ++node)
    leaf_of_.push_back(node / spec.nodes_per_leaf);
  for (std::uint32_t rail = 0; rail < spec.rails; ++rail)
    for (const char* memory : {"host", "gpu"}) {
      const bool gpu = memory == std::string_view("gpu");
      if (gpu && !spec.gpu_memory) continue;
      keys_.push_back({.rail = static_cast<std::int32_t>(rail), .memory = memory});
      LayerState& layer = layers_.emplace_back();
      layer.sends.assign(spec.nodes, 1);
      layer.receives.assign(spec.nodes, 1);
      layer.flapping.assign(spec.nodes, 0);
      layer.leaves.assign(leaves_, 1);
      layer.trunks.assign(static_cast<std::size_t>(leaves_) * leaves_, 1);
      layer.uplinks.assign(static_cast<std::size_t>(leaves_) * spec.spines, 1);
      layer.scale = static_cast<float>(kBandwidth * (gpu ? kGpuShare : 1));
    }
}

Fault Fabric::random_fault(FaultKind kind, double drop) {
  const auto node = static_cast<std::int32_t>(random_.below(spec_.nodes));
  const auto rail = static_cast<std::int32_t>(random_.below(spec_.rails));
  const auto leaf = static_cast<std::int32_t>(random_.below(leaves_));
  const std::int32_t one_or_all = random_.below(2) == 0 ? rail : -1;
  const auto other_leaf = static_cast<std::int32_t>(
      (static_cast<std::uint32_t>(leaf) + 1 + random_.below(leaves_ - 1)) % leaves_);
  Element element{.kind = Kind::kPort, .first = node, .rail = rail};
  Fault fault{.drop = drop};
  switch (kind) {
    case FaultKind::kNicSends:
      element.direction = Direction::kSends;
      break;
    case FaultKind::kNicReceives:
      element.direction = Direction::kReceives;
      break;
    case FaultKind::kGpuPath:
      element.memory = "gpu";
      break;
    case FaultKind::kRail:
      element = {.kind = Kind::kRail, .rail = rail};
      break;
    case FaultKind::kLeaf:
      element = {.kind = Kind::kLeaf, .first = leaf, .rail = one_or_all};
      break;
    case FaultKind::kTrunk:
      element = {.kind = Kind::kTrunk,
                 .first = std::min(leaf, other_leaf),
                 .second = std::max(leaf, other_leaf),
                 .rail = one_or_all};
      break;
    case FaultKind::kSpineLink:
      element = {.kind = Kind::kUplink, .first = leaf, .rail = one_or_all, .intermittent = true};
      fault.spine = static_cast<std::int32_t>(random_.below(spec_.spines));
      break;
    case FaultKind::kNode:
      element.kind = Kind::kNode;
      element.rail = -1;
      break;
    case FaultKind::kFlapping:
      element.intermittent = true;
      break;
    case FaultKind::kPair:
      element.kind = Kind::kPair;
      element.second = static_cast<std::int32_t>(
          (static_cast<std::uint32_t>(node) + 1 + random_.below(spec_.nodes - 1)) % spec_.nodes);
      element.direction = Direction::kSends;
      break;
    case FaultKind::kCable:
    case FaultKind::kNone:
    case FaultKind::kTwo:
      break;
  }
  fault.element = element;
  return fault;
}

std::vector<Fault> Fabric::random_faults(FaultKind kind, double drop) {
  if (kind == FaultKind::kNone) return {};
  if (kind != FaultKind::kTwo) return {random_fault(kind, drop)};
  constexpr std::array kChoices{
      FaultKind::kNicSends, FaultKind::kNicReceives, FaultKind::kGpuPath,   FaultKind::kCable,
      FaultKind::kLeaf,     FaultKind::kTrunk,       FaultKind::kSpineLink, FaultKind::kNode,
      FaultKind::kFlapping, FaultKind::kPair};
  // For kinds that a table has with other sizes, their own size.
  const auto sized = [drop](FaultKind each) {
    if (drop != 0.10) return drop;
    return each == FaultKind::kFlapping ? 0.5 : each == FaultKind::kPair ? 0.3 : drop;
  };
  const auto touched = [this](const Fault& fault) {
    std::vector<std::uint32_t> leaves;
    for (const std::int32_t part : {fault.element.first, fault.element.second})
      if (part >= 0)
        leaves.push_back(of_node(fault.element) ? leaf_of(static_cast<std::uint32_t>(part))
                                                : static_cast<std::uint32_t>(part));
    return leaves;
  };
  for (;;) {
    const FaultKind a = kChoices[random_.below(kChoices.size())];
    const FaultKind b = kChoices[random_.below(kChoices.size())];
    // A path without a measurement shows nothing.
    if (!spec_.gpu_memory && (a == FaultKind::kGpuPath || b == FaultKind::kGpuPath)) continue;
    const Fault first = random_fault(a, sized(a));
    const Fault second = random_fault(b, sized(b));
    bool apart = a != b;
    for (const std::uint32_t x : touched(first))
      for (const std::uint32_t y : touched(second)) apart = apart && x != y;
    if (apart) return {first, second};
  }
}

void Fabric::apply(LayerState& layer, const Fault& fault) const {
  const Element& element = fault.element;
  const auto left = static_cast<float>(1 - fault.drop);
  const auto first = static_cast<std::size_t>(element.first);
  const auto second = static_cast<std::size_t>(element.second);
  const auto lower = [left](float& part) { part *= left; };
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      if (element.intermittent) {
        layer.flapping[first] = 1;
        layer.flapping_left = left;
        return;
      }
      if (element.direction != Direction::kReceives) lower(layer.sends[first]);
      if (element.direction != Direction::kSends) lower(layer.receives[first]);
      return;
    case Kind::kRail:
      return lower(layer.scale);
    case Kind::kLeaf:
      return lower(layer.leaves[first]);
    case Kind::kTrunk:
      lower(layer.trunks[first * leaves_ + second]);
      return lower(layer.trunks[second * leaves_ + first]);
    case Kind::kUplink:
      return lower(layer.uplinks[first * spec_.spines + static_cast<std::size_t>(fault.spine)]);
    case Kind::kPair:
      layer.pairs.push_back(fault);
      return;
    case Kind::kSpine:
      return;
  }
}

void Fabric::inject(const Fault& fault) {
  for (std::size_t l = 0; l < layers_.size(); ++l)
    if (concerns(fault.element, keys_[l])) apply(layers_[l], fault);
}

}  // namespace railgauge::simulator

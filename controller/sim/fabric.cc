#include "controller/sim/fabric.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace railgauge::simulator {
namespace {

// Its table is made once.
const Normal& normal() {
  static const Normal kNormal;
  return kNormal;
}

// The order of the draws is part of the meaning of a seed: path, flapping, noise.
Draw draw_with(const Normal& bell, Random& random, const FabricSpec& spec, bool is_across,
               bool is_flapping) {
  Draw one;
  // A flow is a task's own: its port number is another one each time.
  if (is_across) one.path = static_cast<std::uint16_t>(random.below(spec.spines));
  if (is_flapping && random.below(2) == 0) one.path |= kSlowTask;
  one.factor = 1 + static_cast<float>(spec.noise) * bell(random);
  return one;
}

}  // namespace

Draw draw(Random& random, const FabricSpec& spec, bool is_across, bool is_flapping) {
  return draw_with(normal(), random, spec, is_across, is_flapping);
}

// The comparison of generator, spec and flapping decides whether the stored draws are still valid.
bool Chance::prepare(Random& random, const FabricSpec& spec, const Flapping& flapping) {
  if (random == begin_ && spec == spec_ && flapping == flapping_) {
    random = end_;
    return false;
  }
  spec_ = spec;
  flapping_ = flapping;
  begin_ = random;
  const std::size_t n = spec.nodes;
  const Normal& bell = normal();
  layers_.resize(flapping.size());
  // A local copy stays in a register.
  Random numbers = random;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerChance& layer = layers_[l];
    layer.factors.resize(n * n);
    layer.paths.resize(n * n);
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to) {
        Draw one{.factor = std::numeric_limits<float>::quiet_NaN()};
        if (from != to)
          one =
              draw_with(bell, numbers, spec, from / spec.nodes_per_leaf != to / spec.nodes_per_leaf,
                        flapping[l][from] != 0 || flapping[l][to] != 0);
        layer.factors[from * n + to] = one.factor;
        layer.paths[from * n + to] = one.path;
      }
  }
  random = end_ = numbers;
  return true;
}

namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// The bandwidth of a healthy fabric, in bytes per second: 400 Gb/s, a little less from GPU memory.
constexpr double kBandwidth = 48.5e9;
constexpr double kGpuShare = 0.97;

// Reports whether a fault shows on this layer.
bool concerns(const Element& element, const localise::Layer& layer) {
  return (element.rail < 0 || element.rail == layer.rail) &&
         (element.memory.empty() || element.memory == layer.memory);
}

// Reports whether the element's numbers are those of nodes, not of leaves.
bool names_nodes(const Element& element) {
  return localise::is_of_node(element) || element.kind == Kind::kPair;
}

}  // namespace

std::string_view fault_word(FaultKind kind) {
  static constexpr std::array<std::string_view, kFaultKinds> kWords{
      "none",  "NIC sends",  "NIC receives", "GPU path", "rail", "cable",      "leaf",
      "trunk", "spine link", "node",         "flapping", "pair", "two at once"};
  return kWords.at(static_cast<std::size_t>(kind));
}

// All parts are healthy: their shares are 1.
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

// All numbers are drawn for every kind, used or not, so that the figures after it have the same
// noise.
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

// Two faults must not touch a common leaf: each must be visible by itself.
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
        leaves.push_back(names_nodes(fault.element) ? leaf_of(static_cast<std::uint32_t>(part))
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

// Multiplies the affected shares; faults on the same part add up.
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

// A fault on all rails changes every layer that it concerns.
void Fabric::inject(const Fault& fault) {
  for (std::size_t l = 0; l < layers_.size(); ++l)
    if (concerns(fault.element, keys_[l])) apply(layers_[l], fault);
}

// Figures of a modelled fabric: each pair's figure from chance and faults.

namespace {

// Share of the bandwidth inside a leaf that pairs across leaves get.
constexpr float kCrossShare = 0.985F;
constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();

}  // namespace

// The minimum over all parts that the flow uses, times the noise.
float Fabric::figure(const LayerState& layer, std::uint32_t from, std::uint32_t to,
                     const Draw& drawn) const {
  float left = std::min(layer.sends[from], layer.receives[to]);
  const std::uint32_t a = leaf_of(from);
  const std::uint32_t b = leaf_of(to);
  left = std::min({left, layer.leaves[a], layer.leaves[b]});
  if (a != b) {
    const std::size_t spine = drawn.path & ~kSlowTask;
    left = std::min({left, layer.trunks[static_cast<std::size_t>(a) * leaves_ + b],
                     layer.uplinks[static_cast<std::size_t>(a) * spec_.spines + spine],
                     layer.uplinks[static_cast<std::size_t>(b) * spec_.spines + spine]});
    left *= kCrossShare;
  }
  if ((drawn.path & kSlowTask) != 0) left = std::min(left, layer.flapping_left);
  for (const Fault& pair : layer.pairs)
    if (pair.element.first == static_cast<std::int32_t>(from) &&
        pair.element.second == static_cast<std::int32_t>(to))
      left = std::min(left, static_cast<float>(1 - pair.drop));
  return layer.scale * left * drawn.factor;
}

// Names, leaves and layers; every figure is NaN.
localise::PairData Fabric::empty() const {
  localise::PairData data{.synthetic = true};
  for (std::uint32_t node = 0; node < spec_.nodes; ++node) {
    data.nodes.push_back(fmt::format("sim{:04}", node));
    data.leaf_of.push_back(static_cast<std::int32_t>(leaf_of(node)));
  }
  for (std::uint32_t leaf = 0; leaf < leaves_; ++leaf)
    data.leaves.push_back(fmt::format("L{}", leaf));
  data.layers = keys_;
  for (localise::Layer& layer : data.layers)
    layer.values.assign(static_cast<std::size_t>(spec_.nodes) * spec_.nodes, kNoFigure);
  return data;
}

// Makes them fit this fabric; nothing of another one is left.
void Fabric::take(Figures& figures) const {
  FabricSpec same = figures.spec_;
  same.seed = spec_.seed;
  if (same == spec_ && !figures.made_.empty()) return;
  figures = Figures{};
  figures.spec_ = spec_;
  figures.made_.resize(layers_.size());
}

// As `figure` with nothing wrong but the layer as a whole, many at once.
void Fabric::make_healthy(const LayerState& layer, const LayerChance& chance,
                          std::vector<float>& values) const {
  const std::size_t n = spec_.nodes;
  const float inside = layer.scale;
  const float across = layer.scale * kCrossShare;
  for (std::size_t from = 0; from < n; ++from) {
    const std::size_t begin = from / spec_.nodes_per_leaf * spec_.nodes_per_leaf;
    const std::size_t end = std::min<std::size_t>(begin + spec_.nodes_per_leaf, n);
    const float* const factors = &chance.factors[from * n];
    float* const row = &values[from * n];
    for (std::size_t to = 0; to < n; ++to) row[to] = across * factors[to];
    for (std::size_t to = begin; to < end; ++to) row[to] = inside * factors[to];
  }
}

// Leaves of which something but single nodes is slow.
std::vector<char> Fabric::touched_leaves(const LayerState& layer) const {
  std::vector<char> touched(leaves_);
  const auto any_slow = [](const std::vector<float>& parts, std::size_t first, std::size_t count) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
    return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                       [](float left) { return left < 1; });
  };
  for (std::size_t leaf = 0; leaf < leaves_; ++leaf)
    touched[leaf] = layer.leaves[leaf] < 1 || any_slow(layer.trunks, leaf * leaves_, leaves_) ||
                    any_slow(layer.uplinks, leaf * spec_.spines, spec_.spines);
  return touched;
}

// Rewrites the figures that a fault may change; false: no fault changes any.
bool Fabric::patch(const LayerState& layer, const LayerChance& chance,
                   std::vector<float>& values) const {
  const std::uint32_t n = spec_.nodes;
  bool any = false;
  const auto make = [&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    any = true;
    const std::size_t at = static_cast<std::size_t>(from) * n + to;
    values[at] = figure(layer, from, to, {.path = chance.paths[at], .factor = chance.factors[at]});
  };
  const std::vector<char> leaves = touched_leaves(layer);
  std::vector<std::uint32_t> receivers;
  for (std::uint32_t to = 0; to < n; ++to)
    if (layer.receives[to] < 1 || layer.flapping[to] != 0 || leaves[leaf_of(to)] != 0)
      receivers.push_back(to);
  for (std::uint32_t from = 0; from < n; ++from) {
    const bool all =
        layer.sends[from] < 1 || layer.flapping[from] != 0 || leaves[leaf_of(from)] != 0;
    if (all)
      for (std::uint32_t to = 0; to < n; ++to) make(from, to);
    else
      for (const std::uint32_t to : receivers) make(from, to);
  }
  for (const Fault& pair : layer.pairs)
    make(static_cast<std::uint32_t>(pair.element.first),
         static_cast<std::uint32_t>(pair.element.second));
  return any;
}

// Writes only the figures that differ from the previous trial in the same memory.
const localise::PairData& Fabric::all_pairs(Figures& reused) {
  take(reused);
  if (reused.all_.layers.empty()) reused.all_ = empty();
  Flapping flapping;
  for (const LayerState& layer : layers_) flapping.push_back(layer.flapping);
  const bool is_new = reused.chance_.prepare(random_, spec_, flapping);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const LayerState& layer = layers_[l];
    const LayerChance& chance = reused.chance_.layers()[l];
    Figures::Made& made = reused.made_[l];
    std::vector<float>& values = reused.all_.layers[l].values;
    if (is_new || made.is_patched || made.scale != layer.scale) make_healthy(layer, chance, values);
    made = {.scale = layer.scale, .is_patched = patch(layer, chance, values)};
  }
  return reused.all_;
}

// Random matchings: each round pairs all nodes, both directions.
const localise::PairData& Fabric::quick_scan(std::uint32_t rounds, Figures& reused) {
  take(reused);
  localise::PairData& data = reused.quick_;
  if (data.layers.empty()) data = empty();
  for (localise::Layer& layer : data.layers)
    for (const std::size_t at : reused.written_) layer.values[at] = kNoFigure;
  reused.written_.clear();
  std::vector<std::uint32_t> order(spec_.nodes);
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t i = spec_.nodes - 1; i > 0; --i)
      std::swap(order[i], order[random_.below(i + 1)]);
    for (std::uint32_t i = 0; i + 1 < spec_.nodes; i += 2)
      for (std::size_t l = 0; l < layers_.size(); ++l)
        for (const auto& [from, to] :
             {std::pair{order[i], order[i + 1]}, std::pair{order[i + 1], order[i]}}) {
          const LayerState& layer = layers_[l];
          const Draw drawn = draw(random_, spec_, leaf_of(from) != leaf_of(to),
                                  layer.flapping[from] != 0 || layer.flapping[to] != 0);
          const std::size_t at = static_cast<std::size_t>(from) * spec_.nodes + to;
          data.layers[l].values[at] = figure(layer, from, to, drawn);
          if (l == 0) reused.written_.push_back(at);
        }
  }
  return data;
}

localise::PairData Fabric::all_pairs() {
  Figures figures;
  all_pairs(figures);
  return std::move(figures.all_);
}

localise::PairData Fabric::quick_scan(std::uint32_t rounds) {
  Figures figures;
  quick_scan(rounds, figures);
  return std::move(figures.quick_);
}

}  // namespace railgauge::simulator

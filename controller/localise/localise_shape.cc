#include "controller/localise/localise_shape.h"

#include <algorithm>
#include <set>

namespace railgauge::localise {
namespace {

std::vector<std::size_t> layers_with(const std::vector<LayerCells>& layers, std::int32_t rail,
                                     const std::string& memory) {
  std::vector<std::size_t> found;
  for (std::size_t l = 0; l < layers.size(); ++l)
    if ((rail < 0 || layers[l].rail == rail) && (memory.empty() || layers[l].memory == memory))
      found.push_back(l);
  return found;
}

}  // namespace

std::vector<LayerSet> layer_sets(const std::vector<LayerCells>& layers) {
  std::set<std::int32_t> rails;
  std::set<std::string> memories;
  for (const LayerCells& layer : layers) {
    rails.insert(layer.rail);
    memories.insert(layer.memory);
  }
  std::vector<std::int32_t> choices(rails.begin(), rails.end());
  if (rails.size() > 1) choices.push_back(-1);
  std::vector<LayerSet> sets;
  for (const std::int32_t rail : choices) {
    sets.push_back({.rail = rail, .layers = layers_with(layers, rail, "")});
    const std::size_t all = sets.back().layers.size();
    for (const std::string& memory : memories)
      if (LayerSet set{.rail = rail, .memory = memory, .layers = layers_with(layers, rail, memory)};
          !set.layers.empty() && set.layers.size() < all)
        sets.push_back(std::move(set));
  }
  return sets;
}

Sums sums_of(const Cells& cells, std::size_t layer, const Element& element) {
  const LayerCells& of = cells.layers()[layer];
  const bool sends = element.direction != Direction::kReceives;
  const bool receives = element.direction != Direction::kSends;
  const auto first = static_cast<std::size_t>(element.first);
  const std::size_t leaves = cells.topology().members.size();
  Sums sums;
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      if (sends) sums += of.sends[first];
      if (receives) sums += of.receives[first];
      break;
    case Kind::kTrunk:
      if (sends) sums += cells.block(layer, first, static_cast<std::size_t>(element.second));
      if (receives) sums += cells.block(layer, static_cast<std::size_t>(element.second), first);
      break;
    case Kind::kLeaf:
    case Kind::kUplink:
      for (std::size_t other = 0; other < leaves; ++other) {
        if (other == first) continue;
        if (sends) sums += cells.block(layer, first, other);
        if (receives) sums += cells.block(layer, other, first);
      }
      if (element.kind == Kind::kLeaf) sums += cells.block(layer, first, first);
      break;
    case Kind::kSpine:
      sums += of.all;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) sums -= cells.block(layer, leaf, leaf);
      break;
    case Kind::kRail:
      sums += of.all;
      break;
    case Kind::kPair:
      break;
  }
  return sums;
}

double rest_mean(const Cells& cells, std::size_t layer, const Sums& own) {
  const Sums& all = cells.layers()[layer].all;
  const double count = all.count - own.count;
  return count > 0 ? (all.sum - own.sum) / count : 0;
}

Shift shift_of(const Cells& cells, const LayerSet& set, const Element& element) {
  double top = 0;
  double bottom = 0;
  double proof_top = 0;
  double proof_bottom = 0;
  for (const std::size_t layer : set.layers) {
    const Sums own = sums_of(cells, layer, element);
    const LayerCells& of = cells.layers()[layer];
    const double others = of.all.count - own.count;
    if (own.count <= 0 || others <= 0) continue;
    const double pull = own.count / of.noise;
    const double known = others / of.all.count;
    const double difference = own.sum / own.count - rest_mean(cells, layer, own);
    top += pull * difference;
    bottom += pull / of.noise;
    proof_top += pull * known * difference;
    proof_bottom += pull * known / of.noise;
  }
  if (top >= 0 || proof_top >= 0) return {};
  return {.weight = top * top / (2 * bottom),
          .proof = proof_top * proof_top / (2 * proof_bottom),
          .drop = -top / bottom};
}

double bound_of(const Cells& cells, const LayerSet& set, const Element& element) {
  double bound = 0;
  for (const std::size_t layer : set.layers) bound += sums_of(cells, layer, element).bound;
  return bound;
}

}  // namespace railgauge::localise

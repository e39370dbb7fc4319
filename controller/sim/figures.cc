// A modelled fabric's figures: what chance and what is wrong make of each pair.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "controller/sim/fabric.h"

namespace railgauge::simulator {
namespace {

constexpr float kCrossShare = 0.985F;  // of what pairs inside a leaf get, across leaves
constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();

}  // namespace

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

// Makes those anew that something wrong may show in; false: none.
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

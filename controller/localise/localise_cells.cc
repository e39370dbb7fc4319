#include "controller/localise/localise_cells.h"

#include <algorithm>

#include "controller/localise/localise_level.h"

namespace railgauge::localise {
Topology::Topology(const PairData& data) : nodes(data.nodes.size()) {
  const std::size_t leaves = data.leaf_of.empty() ? 0 : data.leaves.size();
  members.resize(leaves + 1);
  leaf_of.assign(nodes, static_cast<std::int32_t>(leaves));
  for (std::size_t node = 0; node < nodes; ++node) {
    if (!data.leaf_of.empty() && data.leaf_of[node] >= 0) leaf_of[node] = data.leaf_of[node];
    members[static_cast<std::size_t>(leaf_of[node])].push_back(static_cast<std::int32_t>(node));
  }
  if (members.back().empty()) members.pop_back();
  for (std::size_t leaf = 0; leaf < members.size(); ++leaf)
    nameable.push_back(leaf < leaves && members[leaf].size() >= 2);
  has_leaves = std::ranges::count(nameable, true) >= 2;
}

Cells::Cells(const PairData& data, const Options& options, const Centres& centres,
             const std::vector<double>& noise)
    : topology_(data) {
  for (const Layer& layer : data.layers) {
    LayerCells& cells = layers_.emplace_back();
    cells.rail = layer.rail;
    cells.memory = layer.memory;
    cells.centre = centres.empty() ? centres_of(layer, topology_) : centres[layers_.size() - 1];
    cells.noise =
        noise.empty() ? noise_of(layer, topology_, cells.centre) : noise[layers_.size() - 1];
    cells.noise = std::max({cells.noise, options.least_noise, layer.repeat_noise});
    fill(layer, data.model, cells);
  }
}

double Cells::expected(std::size_t layer, std::int32_t from, std::int32_t to) const {
  const bool inside = topology_.leaf_of[static_cast<std::size_t>(from)] ==
                      topology_.leaf_of[static_cast<std::size_t>(to)];
  return layers_[layer].centre[inside ? 0 : 1];
}

void Cells::put(std::size_t layer, std::int32_t from, std::int32_t to, std::uint8_t bin) {
  LayerCells& cells = layers_[layer];
  const auto row = static_cast<std::size_t>(from);
  const auto column = static_cast<std::size_t>(to);
  std::uint8_t& cell = cells.bins[row * topology_.nodes + column];
  Sums change{};
  if (bin != kNoFigure) change += bin_sums(bin);
  if (cell != kNoFigure) change -= bin_sums(cell);
  cell = bin;
  cells.all += change;
  cells.sends[row] += change;
  cells.receives[column] += change;
  cells.blocks[static_cast<std::size_t>(topology_.leaf_of[row]) * topology_.members.size() +
               static_cast<std::size_t>(topology_.leaf_of[column])] += change;
}

}  // namespace railgauge::localise

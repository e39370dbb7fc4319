#include "controller/history/pair_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

// A cell without a figure.
constexpr float kNotMeasured = std::numeric_limits<float>::quiet_NaN();

// The figures of cells that have several, by cell.
using Repetitions = std::map<std::size_t, std::vector<float>>;

// The noise of a cell's figure: the scatter of repetitions, pooled over the cells that have
// several, divided by the root of their number.
double noise_of(const Repetitions& cells) {
  double squares = 0;
  double degrees = 0;
  double figures = 0;
  for (const auto& [cell, values] : cells) {
    double mean = 0;
    for (const float value : values) mean += value / static_cast<double>(values.size());
    for (const float value : values) squares += (value / mean - 1) * (value / mean - 1);
    degrees += static_cast<double>(values.size() - 1);
    figures += static_cast<double>(values.size());
  }
  const double repeated = static_cast<double>(cells.size());
  return degrees > 0 ? std::sqrt(squares / degrees * repeated / figures) : 0;
}

// The index of the leaf; -1 for a node without one.
std::int32_t place_of(const std::vector<std::string>& leaves, const std::string& leaf) {
  const auto found = std::ranges::find(leaves, leaf);
  return found == leaves.end() ? -1 : static_cast<std::int32_t>(found - leaves.begin());
}

}  // namespace

// A name gets the next number at its first use.
std::int32_t PairTable::number(const std::string& name) {
  if (choice_.nodes && !choice_.nodes->contains(name)) return kNotChosen;
  const auto [place, is_new] = numbers_.try_emplace(name, static_cast<std::int32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({.name = name});
  return place->second;
}

// A node may be named many times.
void PairTable::take_part(std::int32_t number) {
  Node& node = nodes_[static_cast<std::size_t>(number)];
  taking_part_ += node.takes_part ? 0 : 1;
  node.takes_part = true;
}

void PairTable::node(const std::string& name) {
  if (const std::int32_t its = number(name); its != kNotChosen) take_part(its);
}

std::size_t PairTable::layer(std::int32_t rail, const std::string& memory) {
  const auto [place, is_new] = layer_numbers_.try_emplace({rail, memory}, layers_.size());
  if (is_new) layers_.emplace_back();
  return place->second;
}

void PairTable::add(std::size_t layer, std::int32_t from, std::int32_t to, double value,
                    double spread) {
  if (from == kNotChosen || to == kNotChosen) return;
  layers_[layer].figures.push_back({.from = from, .to = to, .value = static_cast<float>(value)});
  if (spread > 0) layers_[layer].spreads.push_back(spread);
  take_part(from);
  take_part(to);
}

// Layers without figures need no cells.
Status PairTable::check(const std::string& run_id) const {
  const auto layers = static_cast<std::size_t>(
      std::ranges::count_if(layers_, [](const Layer& layer) { return !layer.figures.empty(); }));
  const std::size_t wanted = taking_part_ * taking_part_ * std::max<std::size_t>(layers, 1);
  if (wanted <= choice_.max_cells) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format(
          "run {}: pairs of {} nodes, by rail and kind of memory, make {} cells; "
          "at most {} are returned at once, so choose fewer with --nodes, or take railgauge "
          "export",
          run_id, taking_part_, wanted, choice_.max_cells));
}

// Without any leaf the list of leaves stays empty, and localisation looks for none.
void PairTable::name_nodes(localise::PairData& data) const {
  for (const Node& node : nodes_)
    if (node.takes_part) data.nodes.push_back(node.name);
  std::ranges::sort(data.nodes);
  std::set<std::string> leaves;
  for (const std::string& name : data.nodes)
    if (std::string leaf = ports_.leaf(name); !leaf.empty()) leaves.insert(std::move(leaf));
  data.leaves.assign(leaves.begin(), leaves.end());
  for (const std::string& name : data.nodes)
    if (!leaves.empty()) data.leaf_of.push_back(place_of(data.leaves, ports_.leaf(name)));
}

// Most cells have one figure, so that only repeated cells keep a list.
void PairTable::fill(const Layer& layer, const std::vector<std::int32_t>& places,
                     localise::Layer& into) const {
  into.values.assign(taking_part_ * taking_part_, kNotMeasured);
  Repetitions repetitions;
  for (const Figure& figure : layer.figures) {
    const auto row = static_cast<std::size_t>(places[static_cast<std::size_t>(figure.from)]);
    const auto column = static_cast<std::size_t>(places[static_cast<std::size_t>(figure.to)]);
    const std::size_t cell = row * taking_part_ + column;
    if (std::isnan(into.values[cell])) {
      into.values[cell] = figure.value;
      continue;
    }
    std::vector<float>& values = repetitions[cell];
    if (values.empty()) values.push_back(into.values[cell]);
    values.push_back(figure.value);
  }
  for (const auto& [cell, values] : repetitions) into.values[cell] = upper_median(values);
  into.repeat_noise = std::max(noise_of(repetitions), upper_median(layer.spreads));
}

// Numbers are in the order of first use; rows are in the order of names.
Result<localise::PairData> PairTable::data(const std::string& run_id) const {
  RG_TRY_OK(check(run_id));
  localise::PairData data;
  name_nodes(data);
  std::vector<std::int32_t> places(nodes_.size(), -1);
  for (std::size_t place = 0; place < data.nodes.size(); ++place)
    places[static_cast<std::size_t>(numbers_.at(data.nodes[place]))] =
        static_cast<std::int32_t>(place);
  for (const auto& [key, number] : layer_numbers_) {
    if (layers_[number].figures.empty()) continue;
    fill(layers_[number], places,
         data.layers.emplace_back(localise::Layer{.rail = key.first, .memory = key.second}));
  }
  return data;
}

}  // namespace railgauge

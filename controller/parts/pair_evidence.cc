#include "controller/parts/pair_evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "controller/parts/layer_fit.h"

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

bool is_figure(const Figure& figure) {
  return std::isfinite(figure.value) && figure.value > 0 && figure.from != figure.to;
}

bool by_sides(const Element& element, std::int32_t from, std::int32_t to) {
  return (from == element.first && element.direction != Direction::kReceives) ||
         (to == element.first && element.direction != Direction::kSends);
}

bool by_way(const Element& element, std::int32_t from, std::int32_t to) {
  return (from == element.first && to == element.second) ||
         (element.direction == Direction::kBoth && from == element.second && to == element.first);
}

// Memory, rail, inside a leaf or across.
using Likeness = std::tuple<bool, std::uint32_t, bool>;

Likeness likeness_of(const NightFigures& night, const Figure& figure) {
  const std::int32_t leaf = night.nodes[figure.from].leaf;
  return {figure.gpu, figure.rail, leaf < 0 || leaf != night.nodes[figure.to].leaf};
}

}  // namespace

bool uses(const NightFigures& night, const Element& element, const Figure& figure) {
  if (element.rail >= 0 && static_cast<std::uint32_t>(element.rail) != figure.rail) return false;
  if (!element.memory.empty() && (element.memory == "gpu") != figure.gpu) return false;
  const std::int32_t from_leaf = night.nodes[figure.from].leaf;
  const std::int32_t to_leaf = night.nodes[figure.to].leaf;
  const auto from = static_cast<std::int32_t>(figure.from);
  const auto to = static_cast<std::int32_t>(figure.to);
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      return by_sides(element, from, to);
    case Kind::kLeaf:
      return by_sides(element, from_leaf, to_leaf);
    case Kind::kUplink:
      return from_leaf != to_leaf && by_sides(element, from_leaf, to_leaf);
    case Kind::kTrunk:
      return by_way(element, from_leaf, to_leaf);
    case Kind::kPair:
      return by_way(element, from, to);
    case Kind::kRail:
      return true;
    case Kind::kSpine:
      return false;
  }
  return false;
}

PairEvidence pairs_of(const NightFigures& night, const Element& element, double loss) {
  std::map<Likeness, std::vector<float>> logs;
  for (const Figure& figure : night.figures)
    if (is_figure(figure))
      logs[likeness_of(night, figure)].push_back(std::log(static_cast<float>(figure.value)));
  std::map<Likeness, float> centres;
  for (auto& [likeness, values] : logs) centres[likeness] = middle_of(values);
  PairEvidence found;
  for (const Figure& figure : night.figures) {
    if (!is_figure(figure) || !uses(night, element, figure)) continue;
    const double away =
        std::log(figure.value) - static_cast<double>(centres.at(likeness_of(night, figure)));
    const double lost = 1 - std::exp(night.larger_is_better ? away : -away);
    ++(lost >= loss / 2 ? found.slow : found.others);
    found.worst.push_back({.from = figure.from,
                           .to = figure.to,
                           .rail = figure.rail,
                           .gpu = figure.gpu,
                           .loss = lost});
  }
  std::ranges::stable_sort(found.worst, std::greater(), &PartFigure::loss);
  if (found.worst.size() > kMostShown) found.worst.resize(kMostShown);
  return found;
}

}  // namespace railgauge::parts

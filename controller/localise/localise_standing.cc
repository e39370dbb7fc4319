#include "controller/localise/localise_standing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/localise/localise_nodes.h"

namespace railgauge::localise {
namespace {

constexpr double kClearChance = 0.005;    // all sides of all nodes counted
constexpr double kDoubtfulChance = 0.01;  // of this one alone
constexpr std::size_t kLeastOthers = 3;
constexpr double kOfBell = 1.4826;    // deviations in the median distance from the median
constexpr double kEfficiency = 0.37;  // of that, against the deviation itself
constexpr double kSides = 3;          // what a node sends, receives, both

// The mean of one node's figures on the element's layers.
Sums figures_of(const Cells& cells, const Found& found, std::int32_t node) {
  Element element = found.element;
  element.first = node;
  Sums sums;
  for (const std::size_t layer : found.layers) sums += sums_of(cells, layer, element);
  return sums;
}

double middle_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Standing standing_of(const Cells& cells, const Found& found) {
  const Kind kind = found.element.kind;
  if (kind != Kind::kPort && kind != Kind::kNode) return Standing::kClear;
  std::vector<double> means;  // of the others
  for (std::size_t node = 0; node < cells.topology().nodes; ++node) {
    if (static_cast<std::int32_t>(node) == found.element.first) continue;
    const Sums of = figures_of(cells, found, static_cast<std::int32_t>(node));
    if (of.count >= 2) means.push_back(of.sum / of.count);
  }
  const Sums own = figures_of(cells, found, found.element.first);
  if (means.size() < kLeastOthers || own.count < 2) return Standing::kDoubtful;
  const double count = static_cast<double>(means.size());
  const double usual = middle_of(means);
  for (double& mean : means) mean = std::abs(mean - usual);
  const double spread = kOfBell * middle_of(means);
  // In deviations of a figure; nodes that happen to be alike are no proof of less noise.
  const double variance = std::max(spread * spread, 1 / own.count) * (1 + 1 / count);
  const double degrees = std::max(1.0, kEfficiency * (count - 1));
  const double chance = chance_of((usual - own.sum / own.count) / std::sqrt(variance), degrees);
  if (chance * kSides * (count + 1) < kClearChance) return Standing::kClear;
  return chance < kDoubtfulChance ? Standing::kDoubtful : Standing::kUsual;
}

}  // namespace railgauge::localise

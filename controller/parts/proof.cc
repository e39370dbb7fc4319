#include "controller/parts/proof.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "kernels/core/stats/quantile.h"

namespace railgauge::parts {
namespace {

// The standard deviation of normal values with the same median distance from their median.
double deviation_of(std::vector<double> values) {
  constexpr double kNormal = 1.4826;
  if (values.size() < 2) return 0;
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return kNormal * median_in(values);
}

// The standard deviation of the peers without those far outside, widened for their number: the
// spread of eight is less than two thirds of the true one in every thirtieth case.
double scatter_of(const std::vector<double>& peers) {
  constexpr double kFarOutside = 8;
  constexpr double kWidening = 6;
  const double middle = median(peers);
  const double usual = deviation_of(peers);
  double sum = 0;
  double count = 0;
  for (const double peer : peers) {
    if (usual > 0 && std::abs(peer - middle) > kFarOutside * usual) continue;
    sum += (peer - middle) * (peer - middle);
    ++count;
  }
  return count < 2 ? usual : std::sqrt(sum / (count - 1)) * (1 + kWidening / count);
}

// One kind of memory on one rail: figures of both directions by their ends, as logarithms.
class ProofLayer {
 public:
  ProofLayer(const NightFigures& night, const std::vector<bool>& is_partner)
      : night_(night), is_partner_(is_partner) {}

  void add(const Figure& figure) {
    const double loss = (night_.larger_is_better ? -1 : 1) * std::log(figure.value);
    from_[figure.from].emplace_back(figure.to, loss);
    to_[figure.to].emplace_back(figure.from, loss);
  }

  // The level of the node's side; absent: no two partners show it.
  [[nodiscard]] std::optional<ProofLevel> level(std::uint32_t node, Side side) const {
    const Ends& own = side == Side::kSends ? from_ : to_;
    const Ends& other = side == Side::kSends ? to_ : from_;
    const auto found = own.find(node);
    if (found == own.end()) return std::nullopt;
    std::vector<double> losses;
    for (const auto& [end, loss] : found->second) {
      if (!is_partner_[end]) continue;
      if (const auto expected = expected_of(other.at(end), node, end))
        losses.push_back(loss - *expected);
    }
    if (losses.empty()) return std::nullopt;
    constexpr double kOfMedian = 1.2533;
    const auto count = static_cast<double>(losses.size());
    return ProofLevel{.node = node,
                      .side = side,
                      .loss = median(losses),
                      .error = kOfMedian * deviation_of(losses) / std::sqrt(count),
                      .figures = losses.size()};
  }

 private:
  using Ends = std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, double>>>;

  // The figure that others have with `end`: partners alike in distance first.
  [[nodiscard]] std::optional<double> expected_of(
      const std::vector<std::pair<std::uint32_t, double>>& figures, std::uint32_t node,
      std::uint32_t end) const {
    std::vector<double> all;
    std::vector<double> alike;
    for (const auto& [partner, loss] : figures) {
      if (partner == node || !is_partner_[partner]) continue;
      all.push_back(loss);
      if (is_within(partner, end) == is_within(node, end)) alike.push_back(loss);
    }
    if (alike.size() >= 2) return median_in(alike);
    if (all.size() >= 2) return median_in(all);
    return std::nullopt;
  }
  // On one leaf, where both are known.
  [[nodiscard]] bool is_within(std::uint32_t a, std::uint32_t b) const {
    return night_.nodes[a].leaf >= 0 && night_.nodes[a].leaf == night_.nodes[b].leaf;
  }

  const NightFigures& night_;
  const std::vector<bool>& is_partner_;
  Ends from_{};
  Ends to_{};
};

// The past by its better part.
struct ProofPast {
  double level = 0;
  double deviation = 0;
};
// Takes the first quartile and the spread between it and the median: a fault of up to half of the
// figures changes neither much.
ProofPast better_part_of(std::vector<double> past) {
  constexpr double kQuarter =
      0.6745;  // of a normal deviation: from the first quartile to the median
  const double level = quantile_in(past, 0.25);
  return {.level = level, .deviation = (quantile_in(past, 0.5) - level) / kQuarter};
}

// Whether the loss is called, and whether a small enough one would be.
ProofState state_of(double loss, double called) {
  if (loss > called) return ProofState::kWorse;
  return called > kMostCalled ? ProofState::kUnsure : ProofState::kProved;
}

}  // namespace

// A layer for each rail and memory, since neither says anything of the other.
std::vector<ProofLevel> levels_against(const NightFigures& night,
                                       const std::vector<bool>& is_partner) {
  std::map<std::pair<bool, std::uint32_t>, ProofLayer> layers;
  for (const Figure& figure : night.figures) {
    if (figure.from == figure.to || !(figure.value > 0) || !std::isfinite(figure.value)) continue;
    layers.try_emplace({figure.gpu, figure.rail}, night, is_partner).first->second.add(figure);
  }
  std::vector<ProofLevel> levels;
  for (const auto& [key, layer] : layers)
    for (const Side side : {Side::kSends, Side::kReceives})
      for (std::uint32_t node = 0; node < night.nodes.size(); ++node)
        if (auto level = layer.level(node, side)) {
          level->gpu = key.first;
          level->rail = key.second;
          levels.push_back(*level);
        }
  return levels;
}

// Peers and past are asked apart: a part that was always slow is as its past, and one that all
// peers share is as its peers.
ProofAnswer prove(const ProofCase& one) {
  ProofAnswer answer;
  std::vector<ProofState> states;
  if (one.peers.size() >= kFewestPeers) {
    const double error = std::max(scatter_of(one.alike.empty() ? one.peers : one.alike), one.error);
    answer.of_peers = one.loss - median(one.peers);
    answer.called_of_peers = std::max(one.least, kProofErrors * error);
    states.push_back(state_of(*answer.of_peers, *answer.called_of_peers));
  }
  if (one.past.size() >= kFewestPast) {
    const ProofPast past = better_part_of(one.past);
    answer.of_past = one.loss_now - past.level;
    answer.called_of_past = std::max(one.least, kProofErrors * std::max(past.deviation, one.error));
    states.push_back(state_of(*answer.of_past, *answer.called_of_past));
  }
  if (!states.empty()) answer.state = *std::ranges::max_element(states);
  return answer;
}

}  // namespace railgauge::parts

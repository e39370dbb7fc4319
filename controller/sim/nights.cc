#include "controller/sim/nights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace railgauge::simulator {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

constexpr double kLineRate = 46.5e9;
constexpr double kOfGpu = 0.97;
constexpr double kAcross = 0.985;

// One table of the process: it takes 16,384 quantiles.
const Normal& normal() {
  static const Normal kNormal;
  return kNormal;
}

bool by_ends(const Element& element, std::uint32_t from, std::uint32_t to) {
  const auto first = static_cast<std::uint32_t>(element.first);
  return (element.direction != Direction::kReceives && from == first) ||
         (element.direction != Direction::kSends && to == first);
}

// Rounds of a tournament: an odd number, in which node `nodes - 1` meets the one that is left.
std::uint32_t rounds_of(std::uint32_t nodes) { return nodes - (nodes % 2 == 0 ? 1 : 0); }

std::uint32_t round_of(std::uint32_t nodes, std::uint32_t a, std::uint32_t b) {
  const std::uint32_t rounds = rounds_of(nodes);
  if (nodes % 2 == 0 && b == nodes - 1) return 2 * a % rounds;
  if (nodes % 2 == 0 && a == nodes - 1) return 2 * b % rounds;
  return (a + b) % rounds;
}

// The partner of a node in a round; itself: none.
std::uint32_t partner_of(std::uint32_t nodes, std::uint32_t round, std::uint32_t a) {
  const std::uint32_t rounds = rounds_of(nodes);
  const bool even = nodes % 2 == 0;
  // The node that is left has no partner but the last.
  if (even && a == nodes - 1) return a;
  const std::uint32_t b = (round + rounds - a) % rounds;
  return even && b == a ? nodes - 1 : b;
}

}  // namespace

std::string_view noise_word(NoiseFamily family) {
  static constexpr std::array<std::string_view, kNoiseFamilies> kWords{
      "normal", "heavy tails", "skewed", "two modes", "spikes", "drift", "quantised", "day/night"};
  return kWords.at(static_cast<std::size_t>(family));
}

Site::Site(const SiteSpec& spec) : spec_(spec) {
  Random random(spec.seed * 0x9E3779B97F4A7C15ULL + 5);
  for (std::uint32_t node = 0; node < spec.nodes; ++node)
    night_.nodes.push_back({.name = fmt::format("sim{:04}", node),
                            .leaf = static_cast<std::int32_t>(node / spec.nodes_per_leaf)});
  const std::uint32_t leaves = (spec.nodes + spec.nodes_per_leaf - 1) / spec.nodes_per_leaf;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    night_.leaves.push_back(fmt::format("L{}", leaf));
  for (std::uint32_t i = 0; i < 2 * spec.nodes * spec.rails; ++i)
    standing_.push_back(static_cast<float>(spec.spread) * normal()(random));
  for (std::uint32_t round = 0; round < rounds_of(spec.nodes); ++round)
    slice_of_.push_back(round % spec.slices);
  for (std::size_t i = slice_of_.size(); i > 1; --i)
    std::swap(slice_of_[i - 1], slice_of_[random.below(static_cast<std::uint32_t>(i))]);
}

bool Site::measures(std::uint32_t number, std::uint32_t a, std::uint32_t b) const {
  return slice_of_[round_of(spec_.nodes, a, b)] == number % spec_.slices;
}

bool Site::concerns(const Element& element, const parts::Figure& figure) const {
  if (element.rail >= 0 && static_cast<std::uint32_t>(element.rail) != figure.rail) return false;
  if (!element.memory.empty() && (element.memory == "gpu") != figure.gpu) return false;
  const std::uint32_t a = figure.from / spec_.nodes_per_leaf;
  const std::uint32_t b = figure.to / spec_.nodes_per_leaf;
  const auto second = static_cast<std::uint32_t>(element.second);
  const auto first = static_cast<std::uint32_t>(element.first);
  const auto either_way = [&](std::uint32_t from, std::uint32_t to) {
    return (from == first && to == second) ||
           (element.direction == Direction::kBoth && from == second && to == first);
  };
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      return by_ends(element, figure.from, figure.to);
    case Kind::kLeaf:
      return by_ends(element, a, b);
    case Kind::kUplink:
      return a != b && by_ends(element, a, b);
    case Kind::kTrunk:
      return either_way(a, b);
    case Kind::kPair:
      return either_way(figure.from, figure.to);
    case Kind::kRail:
      return true;
    case Kind::kSpine:
      return false;
  }
  return false;
}

double Site::left_by(std::span<const SiteFault> faults, const parts::Figure& figure) const {
  double left = 1;
  for (const SiteFault& fault : faults)
    if (concerns(fault.element, figure)) left = std::min(left, 1 - fault.drop);
  return left;
}

double Site::draw_noise(Random& random, double own) const {
  const auto z = static_cast<double>(normal()(random));
  switch (spec_.family) {
    case NoiseFamily::kHeavy:
      // The mixture's deviation is sqrt(0.95 + 0.05 * 16) times that of the narrow part.
      return own / 1.3229 * (random.below(20) == 0 ? 4 * z : z);
    case NoiseFamily::kSkewed:
      return own * (1 + std::log(random.uniform()));
    case NoiseFamily::kTwoModes:
      // Modes 1.6 deviations apart give (1/3) (2/3) 1.6^2 of the variance.
      return own * (0.66 * z + 0.533 - (random.below(3) == 0 ? 1.6 : 0));
    case NoiseFamily::kSpikes:
      return own * z + (random.below(50) == 0 ? std::log(1 - 0.5 * random.uniform()) : 0);
    case NoiseFamily::kNormal:
    case NoiseFamily::kDrift:
    case NoiseFamily::kQuantised:
    case NoiseFamily::kDayNight:
      return own * z;
  }
  return 0;
}

void Site::draw(std::uint32_t number) {
  const std::uint32_t n = spec_.nodes;
  const auto rounds = static_cast<std::uint32_t>(slice_of_.size());
  Random random((spec_.seed * 1'000'003 + number) * 0x2545F4914F6CDD1DULL + 11);
  const auto deviate = [&](double share) {
    return spec_.noise * std::sqrt(share / 2) * static_cast<double>(normal()(random));
  };
  std::vector<double> of_night(night_.leaves.size() * spec_.rails);
  for (double& one : of_night) one = deviate(spec_.night_share);
  std::vector<double> of_round(of_night.size());
  const double own = spec_.noise * std::sqrt(1 - spec_.round_share - spec_.night_share);
  const double drift = spec_.family == NoiseFamily::kDrift ? 0.1 * spec_.noise * number : 0;
  night_.figures.clear();
  healthy_.clear();
  std::uint32_t measured = 0;
  const auto add = [&](parts::Figure figure, double common) {
    const std::size_t from = figure.from / spec_.nodes_per_leaf * spec_.rails + figure.rail;
    const std::size_t to = figure.to / spec_.nodes_per_leaf * spec_.rails + figure.rail;
    const double log = common + of_night[from] + of_night[to] + of_round[from] + of_round[to] +
                       draw_noise(random, own) +
                       static_cast<double>(standing_[figure.from * spec_.rails + figure.rail]) +
                       static_cast<double>(standing_[(n + figure.to) * spec_.rails + figure.rail]);
    healthy_.push_back((figure.gpu ? kOfGpu : 1) * (from == to ? 1 : kAcross) * std::exp(log));
    night_.figures.push_back(figure);
  };
  for (std::uint32_t round = 0; round < rounds; ++round) {
    if (slice_of_[round] != number % spec_.slices) continue;
    for (double& one : of_round) one = deviate(spec_.round_share);
    const bool is_day = spec_.family == NoiseFamily::kDayNight && ++measured % 2 == 0;
    const double common = -drift - (is_day ? 2 * spec_.noise : 0);
    for (std::uint32_t a = 0; a < n; ++a) {
      const std::uint32_t b = partner_of(n, round, a);
      if (b <= a) continue;
      for (std::uint32_t rail = 0; rail < spec_.rails; ++rail)
        for (std::uint32_t kind = 0; kind < (spec_.gpu_memory ? 4U : 2U); ++kind)
          add({.from = kind % 2 == 0 ? a : b,
               .to = kind % 2 == 0 ? b : a,
               .rail = rail,
               .gpu = kind >= 2},
              common);
    }
  }
}

const parts::NightFigures& Site::night(std::uint32_t number, std::span<const SiteFault> faults,
                                       std::uint32_t since) {
  if (drawn_ != number + 1) draw(number);
  drawn_ = number + 1;
  std::vector<SiteFault> active;
  for (const SiteFault& fault : faults)
    if (number >= since && (number - since) % fault.every == 0) active.push_back(fault);
  const double step =
      spec_.family == NoiseFamily::kQuantised && spec_.noise > 0 ? 2 * spec_.noise : 0;
  for (std::size_t i = 0; i < healthy_.size(); ++i) {
    parts::Figure& figure = night_.figures[i];
    figure.value = healthy_[i] * left_by(active, figure);
    if (step > 0) figure.value = std::max(1.0, std::round(figure.value / step)) * step;
    figure.value *= kLineRate;
  }
  return night_;
}

}  // namespace railgauge::simulator

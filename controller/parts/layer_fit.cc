#include "controller/parts/layer_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace railgauge::parts {
namespace {

// Distance, in deviations, from which a figure counts less: 95 % of the efficiency of the mean with
// normal noise.
constexpr double kHuber = 1.345;
// Figures that the belief "like the others" is worth.
constexpr double kPull = 0.3;
// Least deviation of a figure: figures that are rounded to steps have no spread at all.
constexpr double kLeastScale = 0.0005;
// Converts the median distance of normal noise to its standard deviation.
constexpr double kOfMedian = 1.4826;
// Distance, in deviations, that nine of ten normal values stay within.
constexpr double kOfNinth = 1.6449;
// The spread is taken from about so many figures.
constexpr std::size_t kScaleFigures = 20'000;
constexpr int kPasses = 4;
// Ends with fewer figures on average are fitted twice, from both sides, because the first side that
// is fitted takes what both could explain.
constexpr double kFewFigures = 6;
// An end is taken out of its partners' figures if each of its own loses this much, and so many
// deviations of a figure: noise with heavy tails does that to one figure, hardly to all of an end.
constexpr double kClearLoss = 0.01;
constexpr double kClearDeviations = 6;
// Least share of the end's loss that each of its figures shows.
constexpr float kShownByAll = 0.5F;
constexpr int kClearPasses = 3;

// The figures of one side, sorted by its node.
struct SideFigures {
  // By node: index of its first figure; one more at the end.
  std::vector<std::uint32_t> begin{};
  std::vector<std::uint32_t> other{};
  std::vector<float> loss{};
};

SideFigures sorted_by(const std::vector<std::uint32_t>& own,
                      const std::vector<std::uint32_t>& other, const std::vector<float>& loss,
                      std::size_t nodes) {
  SideFigures side;
  side.begin.assign(nodes + 1, 0);
  for (const std::uint32_t node : own) ++side.begin[node + 1];
  for (std::size_t node = 0; node < nodes; ++node) side.begin[node + 1] += side.begin[node];
  std::vector<std::uint32_t> next(side.begin.begin(), side.begin.end() - 1);
  side.other.resize(own.size());
  side.loss.resize(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::uint32_t at = next[own[i]]++;
    side.other[at] = other[i];
    side.loss[at] = loss[i];
  }
  return side;
}

// The state of one fit: levels by node, with the centre apart.
struct State {
  double centre = 0;
  double scale = 0;
  std::vector<float> sends{};
  std::vector<float> receives{};
  // Sums of weights of the last pass.
  std::vector<float> send_weight{};
  std::vector<float> receive_weight{};
};

// Sets the levels of one side to the medians over its figures, pulled to 0.
void median_pass(const SideFigures& side, double centre, const std::vector<float>& others,
                 std::vector<float>& levels) {
  std::vector<float> rest;
  for (std::size_t node = 0; node + 1 < side.begin.size(); ++node) {
    rest.clear();
    for (std::uint32_t i = side.begin[node]; i < side.begin[node + 1]; ++i)
      rest.push_back(side.loss[i] - static_cast<float>(centre) - others[side.other[i]]);
    const auto count = static_cast<double>(rest.size());
    levels[node] = static_cast<float>(middle_of(rest) * count / (count + kPull));
  }
}

// Sets the levels of one side to the weighted means, with weights by the levels so far.
void huber_pass(const SideFigures& side, const State& state, const std::vector<float>& others,
                std::vector<float>& levels, std::vector<float>& weights) {
  const auto limit = static_cast<float>(kHuber * state.scale);
  const auto centre = static_cast<float>(state.centre);
  for (std::size_t node = 0; node + 1 < side.begin.size(); ++node) {
    const float level = levels[node];
    float sum = 0;
    float weight = 0;
    for (std::uint32_t i = side.begin[node]; i < side.begin[node + 1]; ++i) {
      const float rest = side.loss[i] - centre - others[side.other[i]];
      const float w = limit / std::max(limit, std::abs(rest - level));
      sum += w * rest;
      weight += w;
    }
    weights[node] = weight;
    const auto count = static_cast<float>(side.begin[node + 1] - side.begin[node]);
    if (weight > 0) levels[node] = sum / weight * count / (count + static_cast<float>(kPull));
  }
}

// Moves the median of a side's measured nodes into the centre.
void move_centre(const SideFigures& side, std::vector<float>& levels, double& centre) {
  std::vector<float> known;
  for (std::size_t node = 0; node < levels.size(); ++node)
    if (side.begin[node + 1] > side.begin[node]) known.push_back(levels[node]);
  const float shift = middle_of(known);
  for (std::size_t node = 0; node < levels.size(); ++node)
    if (side.begin[node + 1] > side.begin[node]) levels[node] -= shift;
  centre += static_cast<double>(shift);
}

// The spread of the figures about the levels.
double scale_of(const SideFigures& sends, const State& state) {
  std::vector<float> rest;
  const auto step = static_cast<std::uint32_t>(1 + sends.loss.size() / kScaleFigures);
  for (std::size_t node = 0; node + 1 < sends.begin.size(); ++node)
    for (std::uint32_t i = sends.begin[node]; i < sends.begin[node + 1]; i += step)
      rest.push_back(sends.loss[i] - static_cast<float>(state.centre) - state.sends[node] -
                     state.receives[sends.other[i]]);
  return std::max(kLeastScale, spread_of(rest));
}

// One fit; `first` is the side that is fitted first.
State fit_from(const SideFigures& sends, const SideFigures& receives, double centre, bool first) {
  const std::size_t nodes = sends.begin.size() - 1;
  State state{.centre = centre};
  state.sends.assign(nodes, 0);
  state.receives.assign(nodes, 0);
  state.send_weight.assign(nodes, 0);
  state.receive_weight.assign(nodes, 0);
  const auto both = [first](const auto& fit_sends, const auto& fit_receives) {
    if (first) fit_sends();
    fit_receives();
    if (!first) fit_sends();
  };
  both(
      [&] {
        median_pass(sends, state.centre, state.receives, state.sends);
        move_centre(sends, state.sends, state.centre);
      },
      [&] {
        median_pass(receives, state.centre, state.sends, state.receives);
        move_centre(receives, state.receives, state.centre);
      });
  for (int pass = 0; pass < kPasses; ++pass) {
    if (pass == 0 || pass == 2) state.scale = scale_of(sends, state);
    both(
        [&] {
          huber_pass(sends, state, state.receives, state.sends, state.send_weight);
          move_centre(sends, state.sends, state.centre);
        },
        [&] {
          huber_pass(receives, state, state.sends, state.receives, state.receive_weight);
          move_centre(receives, state.receives, state.centre);
        });
  }
  return state;
}

// The mean of two fits.
State between(State a, const State& b) {
  for (std::size_t node = 0; node < a.sends.size(); ++node) {
    a.sends[node] = (a.sends[node] + b.sends[node]) / 2;
    a.receives[node] = (a.receives[node] + b.receives[node]) / 2;
  }
  a.centre = (a.centre + b.centre) / 2;
  a.scale = (a.scale + b.scale) / 2;
  return a;
}

// One fit, or the mean of the two from either side where ends have few figures.
State fit_state(const SideFigures& sends, const SideFigures& receives, double centre, bool few) {
  State state = fit_from(sends, receives, centre, true);
  return few ? between(std::move(state), fit_from(sends, receives, centre, false)) : state;
}

// Returns the loss of one end by its figures alone, 0 where they do not show one clearly: a partner
// counts as its other figures say, and one without others says nothing. `mine` are the figures by
// the end's side and `levels` the levels of that side; `theirs` are those by the partners' side.
float loss_alone(const SideFigures& mine, const SideFigures& theirs, std::uint32_t end,
                 const State& state, const std::vector<float>& levels) {
  const auto centre = static_cast<float>(state.centre);
  std::vector<float> losses;
  std::vector<float> rest;
  float least = std::numeric_limits<float>::infinity();
  for (std::uint32_t i = mine.begin[end]; i < mine.begin[end + 1]; ++i) {
    const std::uint32_t partner = mine.other[i];
    rest.clear();
    for (std::uint32_t j = theirs.begin[partner]; j < theirs.begin[partner + 1]; ++j)
      if (theirs.other[j] != end) rest.push_back(theirs.loss[j] - centre - levels[theirs.other[j]]);
    if (rest.empty()) continue;
    const float seen = mine.loss[i] - centre;
    losses.push_back(seen - middle_of(rest));
    // A partner that looks fast because of another end's loss makes no end slow.
    least = std::min({least, seen, losses.back()});
  }
  if (losses.size() < 2) return 0;
  const float loss = middle_of(losses);
  const double clear = std::max(kClearLoss, kClearDeviations * state.scale);
  return static_cast<double>(least) > clear && least >= kShownByAll * loss ? loss : 0;
}

// Adds to `taken` the clear losses of one side that none of the end's partners exceeds by its
// level; returns whether there was one.
bool take_clear(const SideFigures& mine, const SideFigures& theirs, const State& state,
                const std::vector<float>& levels, const std::vector<float>& others,
                std::vector<float>& taken) {
  bool any = false;
  for (std::uint32_t end = 0; end < taken.size(); ++end) {
    if (static_cast<double>(levels[end]) < kClearLoss) continue;
    bool largest = true;
    for (std::uint32_t i = mine.begin[end]; i < mine.begin[end + 1]; ++i)
      largest = largest && others[mine.other[i]] < levels[end];
    const float loss = largest ? loss_alone(mine, theirs, end, state, levels) : 0;
    taken[end] += loss;
    any = any || loss > 0;
  }
  return any;
}

// The fit of a layer whose ends have few figures. Clear losses of ends are taken out of the figures
// before the next fit: partners with two or three figures would else take a part of the loss.
State fit_few(LayerLosses losses, std::size_t nodes, double centre) {
  std::vector<float> sends_taken(nodes, 0);
  std::vector<float> receives_taken(nodes, 0);
  for (int pass = 0;; ++pass) {
    const SideFigures sends = sorted_by(losses.from, losses.to, losses.loss, nodes);
    const SideFigures receives = sorted_by(losses.to, losses.from, losses.loss, nodes);
    State state = fit_state(sends, receives, centre, true);
    std::vector<float> send_loss(nodes, 0);
    std::vector<float> receive_loss(nodes, 0);
    const bool any_send =
        take_clear(sends, receives, state, state.sends, state.receives, send_loss);
    const bool any_receive =
        take_clear(receives, sends, state, state.receives, state.sends, receive_loss);
    if ((!any_send && !any_receive) || pass == kClearPasses) {
      for (std::size_t node = 0; node < nodes; ++node) {
        state.sends[node] += sends_taken[node];
        state.receives[node] += receives_taken[node];
      }
      return state;
    }
    for (std::size_t node = 0; node < nodes; ++node) {
      sends_taken[node] += send_loss[node];
      receives_taken[node] += receive_loss[node];
    }
    for (std::size_t i = 0; i < losses.loss.size(); ++i)
      losses.loss[i] -= send_loss[losses.from[i]] + receive_loss[losses.to[i]];
  }
}

std::vector<Level> levels_of_side(const std::vector<float>& levels,
                                  const std::vector<float>& weights, double scale) {
  std::vector<Level> found(levels.size());
  for (std::size_t node = 0; node < levels.size(); ++node) {
    if (weights[node] <= 0) continue;
    const double error = scale / std::sqrt(static_cast<double>(weights[node]));
    found[node] = {.loss = levels[node], .error = static_cast<float>(error)};
  }
  return found;
}

}  // namespace

float middle_of(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

double spread_of(std::vector<float>& values) {
  if (values.empty()) return 0;
  for (float& value : values) value = std::abs(value);
  const double half = kOfMedian * static_cast<double>(middle_of(values));
  const auto high = values.begin() + static_cast<std::ptrdiff_t>(9 * (values.size() - 1) / 10);
  std::nth_element(values.begin(), high, values.end());
  return std::max(half, static_cast<double>(*high) / kOfNinth);
}

Level huber_mean(const float* losses, std::size_t count, double scale) {
  if (count == 0) return {};
  double centre = 0;
  double weight = 0;
  for (int pass = 0; pass < 3; ++pass) {
    double sum = 0;
    weight = 0;
    for (const float loss : std::span(losses, count)) {
      const double away = std::abs(static_cast<double>(loss) - centre);
      const double w = away <= kHuber * scale ? 1 : kHuber * scale / away;
      sum += w * static_cast<double>(loss);
      weight += w;
    }
    centre = sum / weight;
  }
  return {.loss = static_cast<float>(centre),
          .error = static_cast<float>(scale / std::sqrt(std::max(weight, 0.1)))};
}

LayerFit fit_layer(const LayerLosses& losses, std::size_t nodes) {
  LayerFit fit;
  std::vector<float> all = losses.loss;
  const auto centre = static_cast<double>(middle_of(all));
  const bool few =
      static_cast<double>(losses.loss.size()) < kFewFigures * static_cast<double>(nodes);
  const State state =
      few ? fit_few(losses, nodes, centre)
          : fit_state(sorted_by(losses.from, losses.to, losses.loss, nodes),
                      sorted_by(losses.to, losses.from, losses.loss, nodes), centre, false);
  fit.scale = state.scale;
  fit.sends = levels_of_side(state.sends, state.send_weight, fit.scale);
  fit.receives = levels_of_side(state.receives, state.receive_weight, fit.scale);
  const auto count = static_cast<double>(losses.loss.size());
  fit.centre = {.loss = static_cast<float>(state.centre),
                .error = static_cast<float>(fit.scale / std::sqrt(count))};
  fit.left_over.resize(losses.loss.size());
  for (std::size_t i = 0; i < losses.loss.size(); ++i)
    fit.left_over[i] = losses.loss[i] - static_cast<float>(state.centre) -
                       state.sends[losses.from[i]] - state.receives[losses.to[i]];
  return fit;
}

}  // namespace railgauge::parts

#include "controller/detect/drift.h"

#include <algorithm>
#include <cmath>

#include "controller/detect/fit.h"
#include "controller/detect/lines.h"

namespace railgauge::analysis {
namespace {

// Price of a slope in squared deviations of a long mean: |z| of 3.9, a two-sided p of 1e-4.
constexpr double kSlopePrice = 15.2;
// Price of a step between two lines, in prices of a line.
constexpr double kJumpPrice = 1;
// Least share of the noise that is taken for what lines leave.
constexpr double kLeastShare = 0.1;
// Least total movement of a drift, in deviations of single values.
constexpr double kLeastTotal = 1.5;
// A movement back of less than this share of those before and behind it is part of their drift.
constexpr double kReversal = 0.5;

// Returns the values less the lines.
std::vector<double> left_by(std::span<const double> values, const LineSums& sums,
                            std::span<const Line> lines) {
  std::vector<double> out(values.begin(), values.end());
  for (const Line& line : lines) {
    const double middle = sums.mean_run(line.begin, line.end);
    const double slope = line.sloping ? sums.slope(line.begin, line.end) : 0;
    const double mean = sums.mean(line.begin, line.end);
    for (std::size_t i = line.begin; i < line.end; ++i)
      out[i] -= mean + slope * (sums.run(i) - middle);
  }
  return out;
}

// The prices of a cut into `lines`. Steps make noise look correlated; what the lines leave shows
// how much it is.
Prices prices_beside(std::span<const double> values, const LineSums& sums,
                     std::span<const Line> lines, const Prices& prices) {
  const Noise left = estimate_noise(left_by(values, sums, lines), 0, {});
  const double share = std::clamp(
      std::max(1.0, left.factor()) * left.scale * left.scale / prices.unit, kLeastShare, 1.0);
  return {.unit = share * prices.unit,
          .line = share * prices.line,
          .slope = share * prices.slope,
          .jump = share * prices.jump};
}

// A sloping line of a chain.
struct Slope {
  Stretch stretch{};
  double before = 0;
  // A step or nothing parts it from the slope before, no flat line.
  bool adjacent = false;
  // Its chain: lines [first, last) of the cut, and its place among them.
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t place = 0;
};

// Lines [first, last) of a cut, which meet, and the levels at their ends.
struct Chain {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<Node> nodes{};
};

std::vector<Chain> chains_of(const LineSums& sums, std::span<const Line> lines) {
  std::vector<Chain> out;
  for (std::size_t first = 0; first < lines.size(); first = out.back().last) {
    const std::size_t last = chain_end(lines, first);
    out.push_back({.first = first,
                   .last = last,
                   .nodes = fit_chain(sums, lines.subspan(first, last - first)).nodes});
  }
  return out;
}

// Reports whether the `slopes` of chain `c` are the shape of a step: shorter than a drift and of
// less movement than the jump beside them.
bool is_shape_of_step(std::span<const Chain> chains, std::size_t c, std::span<const Slope> slopes) {
  if (slopes.empty() || slopes.back().stretch.end + 1 >= slopes.front().stretch.begin + kLeastDrift)
    return false;
  const auto jump = [&](std::size_t left) {
    return std::abs(chains[left + 1].nodes.front().level - chains[left].nodes.back().level);
  };
  const double largest = std::max(c > 0 ? jump(c - 1) : 0, c + 1 < chains.size() ? jump(c) : 0);
  double moved = 0;
  for (const Slope& slope : slopes) moved += slope.stretch.moved;
  return largest > std::abs(moved);
}

// The slopes of all chains.
std::vector<Slope> slopes_of(std::span<const Line> lines, std::span<const Chain> chains) {
  std::vector<Slope> out;
  bool adjacent = false;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const auto& [first, last, nodes] = chains[c];
    const std::size_t before = out.size();
    for (std::size_t i = 0; i < last - first; ++i) {
      const Line& line = lines[first + i];
      if (!line.sloping) {
        adjacent = adjacent && line.end - line.begin < kLeastDrift && i > 0 && i + 1 < last - first;
        continue;
      }
      out.push_back({.stretch = {.begin = nodes[i].at,
                                 .end = nodes[i + 1].at,
                                 .moved = nodes[i + 1].level - nodes[i].level},
                     .before = nodes[i].level,
                     .adjacent = adjacent,
                     .first = first,
                     .last = last,
                     .place = i});
      adjacent = true;
    }
    if (is_shape_of_step(chains, c, std::span(out).subspan(before))) {
      out.resize(before);
      adjacent = false;
    }
  }
  return out;
}

// Slopes that follow each other and are one drift.
struct Group {
  std::vector<Slope> parts{};
  double moved = 0;

  [[nodiscard]] bool is_adjacent() const { return parts.front().adjacent; }
};

// Joins group `i` to the one before it.
void join_with_last(std::vector<Group>& groups, std::size_t i) {
  Group& left = groups[i - 1];
  left.moved += groups[i].moved;
  left.parts.insert(left.parts.end(), groups[i].parts.begin(), groups[i].parts.end());
  groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
}

// First those that go one way, then a small movement back with the larger ones on both sides of it.
// At an end the movement back is the news.
std::vector<Group> groups_of(const std::vector<Slope>& slopes) {
  std::vector<Group> groups;
  for (const Slope& slope : slopes) {
    groups.push_back({.parts = {slope}, .moved = slope.stretch.moved});
    if (groups.size() > 1 && slope.adjacent &&
        groups[groups.size() - 2].moved * slope.stretch.moved > 0)
      join_with_last(groups, groups.size() - 1);
  }
  for (std::size_t i = 1; i + 1 < groups.size();) {
    const double back = std::abs(groups[i].moved);
    const double least = std::min(std::abs(groups[i - 1].moved), std::abs(groups[i + 1].moved));
    if (!groups[i].is_adjacent() || !groups[i + 1].is_adjacent() || back >= kReversal * least) {
      ++i;
      continue;
    }
    join_with_last(groups, i);
    join_with_last(groups, i);
    // The sum may be larger than what the group before moves back.
    i = std::max<std::size_t>(1, i - 1);
  }
  return groups;
}

// The standard deviation of what a group moves: its chains are independent of each other.
double spread_of(const LineSums& sums, std::span<const Line> lines, const Group& group) {
  double variance = 0;
  for (std::size_t i = 0; i < group.parts.size();) {
    const Slope& from = group.parts[i];
    std::size_t to = i + 1;
    while (to < group.parts.size() && group.parts[to].first == from.first) ++to;
    const double spread = spread_between(sums, lines.subspan(from.first, from.last - from.first),
                                         from.place, group.parts[to - 1].place + 1);
    variance += spread * spread;
    i = to;
  }
  return std::sqrt(variance);
}

}  // namespace

bool may_move(std::span<const double> values, std::span<const std::size_t> runs,
              std::span<const std::size_t> bounds, const Noise& noise, double penalty) {
  const LineSums sums(values, runs);
  const double price = kSlopePrice * noise.of_mean();
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
    if (bounds[k + 1] - bounds[k] >= kLeastDrift && sums.saved(bounds[k], bounds[k + 1]) > price)
      return true;
  for (std::size_t k = 0; k + 2 < bounds.size(); ++k) {
    const std::size_t begin = bounds[k];
    const std::size_t end = bounds[k + 2];
    const double two = sums.flat(begin, bounds[k + 1]) + sums.flat(bounds[k + 1], end) + penalty;
    if (end - begin >= kLeastDrift && sums.flat(begin, end) - sums.saved(begin, end) + price < two)
      return true;
  }
  for (std::size_t k = 0; k + 3 < bounds.size(); ++k) {
    const double a = sums.mean(bounds[k], bounds[k + 1]);
    const double b = sums.mean(bounds[k + 1], bounds[k + 2]);
    const double c = sums.mean(bounds[k + 2], bounds[k + 3]);
    if ((b > a) == (c > b)) return true;
  }
  return false;
}

Movement find_movement(std::span<const double> values, std::span<const std::size_t> runs,
                       const Noise& noise, const MovementSettings& settings) {
  Movement out;
  if (values.size() < kLeastDrift) return out;
  const LineSums sums(values, runs);
  const double unit = noise.of_mean();
  const Prices whole{.unit = unit,
                     .line = settings.penalty,
                     .slope = kSlopePrice * unit,
                     .jump = kJumpPrice * settings.penalty};
  std::vector<Line> lines = cut_into_lines(sums, whole);
  join_lines(sums, prices_beside(values, sums, lines, whole), lines);
  for (const Group& group : groups_of(slopes_of(lines, chains_of(sums, lines)))) {
    const std::size_t begin = group.parts.front().stretch.begin;
    const std::size_t end = group.parts.back().stretch.end;
    if (end + 1 < begin + kLeastDrift ||
        std::abs(group.moved) < std::max(2 * settings.least_step, kLeastTotal * noise.marginal()))
      continue;
    const double before = group.parts.front().before;
    Drift& drift = out.drifts.emplace_back(Drift{.begin = begin,
                                                 .end = end,
                                                 .before = before,
                                                 .after = before + group.moved,
                                                 .spread = spread_of(sums, lines, group)});
    for (const Slope& part : group.parts) drift.parts.push_back(part.stretch);
  }
  for (const Line& line : lines)
    if (line.jump) out.steps.push_back(line.begin);
  return out;
}

std::vector<double> curve_of(std::span<const Drift> drifts, std::span<const std::size_t> runs) {
  std::vector<double> curve;
  if (drifts.empty()) return curve;
  curve.assign(runs.size(), 0);
  for (const Drift& drift : drifts)
    for (const auto& [begin, end, moved] : drift.parts) {
      const auto way = static_cast<double>(runs[end] - runs[begin]);
      for (std::size_t t = begin + 1; t < curve.size(); ++t)
        curve[t] += moved * static_cast<double>(runs[std::min(t, end)] - runs[begin]) / way;
    }
  return curve;
}

}  // namespace railgauge::analysis

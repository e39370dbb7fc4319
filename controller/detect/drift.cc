#include "controller/detect/drift.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "controller/detect/fit.h"

namespace railgauge::analysis {
namespace {

// Least length of a drift in runs; shorter movements are steps.
constexpr std::size_t kLeastDrift = 12;
// Least length of one of the lines that make up a curve.
constexpr std::size_t kLeastLine = 8;
// Price of a slope in squared deviations of a long mean: |z| of 3.9, a two-sided p of 1e-4.
constexpr double kSlopePrice = 15.2;
// Price of a step between two lines, in prices of a line.
constexpr double kJumpPrice = 1;
// Share of that price for a step with flat lines all around.
constexpr double kBetweenFlats = 0.5;
// Least share of the noise that is taken for what lines leave.
constexpr double kLeastShare = 0.1;
// Runs on each side that show a step in a movement, and by how many deviations.
constexpr std::size_t kVisible = 8;
constexpr double kVisibleZ = 4;
// Least total movement of a drift, in deviations of single values.
constexpr double kLeastTotal = 1.5;
// A movement back of less than this share of the larger one is part of one drift.
constexpr double kReversal = 0.5;
// Places tried for the joint of two lines.
constexpr std::size_t kKnots = 32;

// Sums over a series, which yield the costs of flat and sloping lines in constant time. The
// inverses of lengths are kept, because a division is slower than the rest.
class LineSums {
 public:
  explicit LineSums(std::span<const double> values)
      : base_(values.empty() ? 0 : values[values.size() / 2]),
        sum_(values.size() + 1),
        square_(values.size() + 1),
        moment_(values.size() + 1),
        inverse_(values.size() + 1),
        inverse_spread_(values.size() + 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double v = values[i] - base_;
      sum_[i + 1] = sum_[i] + v;
      square_[i + 1] = square_[i] + v * v;
      moment_[i + 1] = moment_[i] + static_cast<double>(i) * v;
      const auto n = static_cast<double>(i + 1);
      inverse_[i + 1] = 1 / n;
      inverse_spread_[i + 1] = i == 0 ? 0 : 12 / (n * (n * n - 1));
    }
  }
  // The cost of a flat line over [begin, end).
  [[nodiscard]] double flat(std::size_t begin, std::size_t end) const {
    const double sum = sum_[end] - sum_[begin];
    return std::max(0.0, square_[end] - square_[begin] - sum * sum * inverse_[end - begin]);
  }
  // The cost that a slope saves in [begin, end).
  [[nodiscard]] double saved(std::size_t begin, std::size_t end) const {
    const double product = this->product(begin, end);
    return product * product * inverse_spread_[end - begin];
  }
  [[nodiscard]] double slope(std::size_t begin, std::size_t end) const {
    return product(begin, end) * inverse_spread_[end - begin];
  }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const {
    return base_ + (sum_[end] - sum_[begin]) * inverse_[end - begin];
  }

 private:
  // Sum of (run - mean run) times value.
  [[nodiscard]] double product(std::size_t begin, std::size_t end) const {
    const double middle = (static_cast<double>(begin + end) - 1) / 2;
    return moment_[end] - moment_[begin] - middle * (sum_[end] - sum_[begin]);
  }

  // Subtracted from all values, so that large levels lose no digits.
  double base_ = 0;
  std::vector<double> sum_;
  std::vector<double> square_;
  std::vector<double> moment_;
  std::vector<double> inverse_;
  std::vector<double> inverse_spread_;
};

// A line of the fit over [begin, end).
struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool sloping = false;
  // A step parts this line from the one before.
  bool jump = false;
};

// A place where the last line may begin; `dead_at` is the end from which on it is never the best.
struct Start {
  std::size_t at = 0;
  double best = 0;
  std::size_t dead_at = std::numeric_limits<std::size_t>::max();
};

// The cheapest cut of the series into lines.
std::vector<Line> cut_into_lines(const LineSums& sums, std::size_t n, double penalty,
                                 double slope_price) {
  std::vector<double> best(n + 1, 0);
  std::vector<Line> last(n + 1);
  std::vector<Start> starts{{.at = 0, .best = -penalty}};
  std::vector<double> unpriced;
  for (std::size_t end = kLeastPiece; end <= n; ++end) {
    std::erase_if(starts, [&](const Start& start) { return start.dead_at <= end; });
    unpriced.assign(starts.size(), 0);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t at = starts[i].at;
      const double flat = starts[i].best + sums.flat(at, end);
      const double line = flat - (end - at < kLeastLine ? 0 : sums.saved(at, end));
      unpriced[i] = line;
      const bool sloping = line + slope_price < flat;
      const double priced = sloping ? line + slope_price : flat;
      if (priced >= least) continue;
      least = priced;
      last[end] = {.begin = at, .end = end, .sloping = sloping};
    }
    best[end] = least + penalty;
    // A start that loses to a cut at `end` loses to it for ever, once a line fits behind it.
    for (std::size_t i = 0; i < starts.size(); ++i)
      if (unpriced[i] > best[end])
        starts[i].dead_at = std::min(starts[i].dead_at, end + kLeastLine);
    const std::size_t next = end + 1 - kLeastPiece;
    if (next >= kLeastPiece) starts.push_back({.at = next, .best = best[next]});
  }
  std::vector<Line> lines;
  for (std::size_t end = n; end > 0; end = last[end].begin) lines.push_back(last[end]);
  std::ranges::reverse(lines);
  return lines;
}

// Returns the values less the lines.
std::vector<double> left_by(std::span<const double> values, const LineSums& sums,
                            std::span<const Line> lines) {
  std::vector<double> out(values.begin(), values.end());
  for (const Line& line : lines) {
    const double middle = (static_cast<double>(line.begin) + static_cast<double>(line.end) - 1) / 2;
    const double slope = line.sloping ? sums.slope(line.begin, line.end) : 0;
    const double mean = sums.mean(line.begin, line.end);
    for (std::size_t i = line.begin; i < line.end; ++i)
      out[i] -= mean + slope * (static_cast<double>(i) - middle);
  }
  return out;
}

// The level at the end of a line.
struct Node {
  std::size_t at = 0;
  double level = 0;
};

// Lines that meet, fitted by least squares.
struct ChainFit {
  // The begin of each line, then the last run.
  std::vector<Node> nodes{};
  // Sum of squared residuals.
  double cost = 0;
};

// Solves symmetric equations of three diagonals; the solution replaces `right`.
void solve(std::vector<double>& diagonal, const std::vector<double>& beside,
           std::vector<double>& right) {
  for (std::size_t r = 1; r < right.size(); ++r) {
    const double factor = beside[r - 1] / diagonal[r - 1];
    diagonal[r] -= factor * beside[r - 1];
    right[r] -= factor * right[r - 1];
  }
  for (std::size_t r = right.size(); r-- > 0;) {
    if (r + 1 < right.size()) right[r] -= beside[r] * right[r + 1];
    right[r] /= diagonal[r];
  }
}

// Fits a chain: the unknowns are the levels of the nodes, and both ends of a flat line are one.
ChainFit fit_chain(std::span<const double> values, std::span<const Line> chain) {
  ChainFit out;
  std::vector<std::size_t> unknown{0};
  for (const Line& line : chain) {
    out.nodes.push_back({.at = line.begin});
    unknown.push_back(unknown.back() + (line.sloping ? 1 : 0));
  }
  out.nodes.push_back({.at = chain.back().end - 1});
  const std::size_t size = unknown.back() + 1;
  std::vector<double> diagonal(size, 0);
  std::vector<double> beside(size, 0);
  std::vector<double> right(size, 0);
  const double base = values[chain.front().begin];
  double squares = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::size_t begin = out.nodes[i].at;
    const double length =
        static_cast<double>(std::max<std::size_t>(1, out.nodes[i + 1].at - begin));
    const std::size_t a = unknown[i];
    const std::size_t b = unknown[i + 1];
    for (std::size_t t = begin; t < chain[i].end; ++t) {
      const double w = a == b ? 0 : static_cast<double>(t - begin) / length;
      const double y = values[t] - base;
      squares += y * y;
      diagonal[a] += (1 - w) * (1 - w);
      right[a] += (1 - w) * y;
      if (a == b) continue;
      diagonal[b] += w * w;
      beside[a] += w * (1 - w);
      right[b] += w * y;
    }
  }
  std::vector<double> levels = right;
  solve(diagonal, beside, levels);
  out.cost = squares;
  for (std::size_t r = 0; r < size; ++r) out.cost -= levels[r] * right[r];
  out.cost = std::max(0.0, out.cost);
  for (std::size_t i = 0; i < out.nodes.size(); ++i) out.nodes[i].level = base + levels[unknown[i]];
  return out;
}

// First line of the chain of line `i`, and one past its last.
std::size_t chain_begin(const std::vector<Line>& lines, std::size_t i) {
  while (i > 0 && !lines[i].jump) --i;
  return i;
}
std::size_t chain_end(const std::vector<Line>& lines, std::size_t i) {
  for (++i; i < lines.size() && !lines[i].jump;) ++i;
  return i;
}

// Prices of the parts of a cut.
struct Prices {
  // Squared deviation of a long mean times its length.
  double unit = 0;
  double line = 0;
  double slope = 0;
  // A step between two lines, beside the price of the line.
  double jump = 0;
};

// Replaces steps between lines by joints where they meet, one line in place of two, or flat lines
// by sloping ones, while that costs less.
class Joiner {
 public:
  Joiner(std::span<const double> values, const LineSums& sums, const Prices& prices)
      : values_(values), sums_(sums), prices_(prices) {}

  void join(std::vector<Line>& lines) const {
    constexpr int kMostPasses = 4;
    bool joined = true;
    for (int pass = 0; joined && pass < kMostPasses; ++pass) {
      joined = false;
      for (std::size_t i = 1; i < lines.size();) {
        const bool here =
            (lines[i].jump && (join_at(lines, i) || join_stairs(lines, i))) || drop_short(lines, i);
        joined = joined || here;
        if (!here) ++i;
      }
    }
  }

 private:
  // Cost of lines [first, last), prices included.
  [[nodiscard]] double price(const std::vector<Line>& lines, std::size_t first,
                             std::size_t last) const {
    double cost = 0;
    for (std::size_t i = first; i < last;) {
      const std::size_t end = std::min(last, chain_end(lines, i));
      cost += fit_chain(values_, std::span(lines).subspan(i, end - i)).cost;
      if (i > first) cost += (may_be_smooth(lines, i) ? 1 : kBetweenFlats) * prices_.jump;
      i = end;
    }
    for (std::size_t i = first; i < last; ++i)
      cost += prices_.line + (lines[i].sloping ? prices_.slope : 0);
    return cost;
  }

  // Moves the joint in front of line `i` to where the lines fit best.
  [[nodiscard]] double place_joint(std::vector<Line>& lines, std::size_t i, std::size_t first,
                                   std::size_t last) const {
    const std::size_t low = lines[i - 1].begin + kLeastPiece - 1;
    const std::size_t high = lines[i].end - kLeastPiece;
    std::size_t best_at = lines[i].begin;
    double best = price(lines, first, last);
    const auto attempt = [&](std::size_t at) {
      lines[i - 1].end = lines[i].begin = at;
      const double cost = price(lines, first, last);
      if (cost >= best) return;
      best = cost;
      best_at = at;
    };
    std::size_t step = std::max<std::size_t>(1, (high - low) / kKnots);
    for (std::size_t at = low; at <= high; at += step) attempt(at);
    for (step /= 2; step >= 1; step /= 2) {
      const std::size_t at = best_at;
      if (at >= low + step) attempt(at - step);
      if (at + step <= high) attempt(at + step);
    }
    lines[i - 1].end = lines[i].begin = best_at;
    return best;
  }

  [[nodiscard]] static bool may_be_smooth(const std::vector<Line>& lines, std::size_t i) {
    return lines[i - 1].sloping || lines[i].sloping || (i >= 2 && lines[i - 2].sloping) ||
           (i + 1 < lines.size() && lines[i + 1].sloping);
  }

  // Reports whether the few runs on both sides of the step in front of line `i` show it.
  [[nodiscard]] bool is_visible(const std::vector<Line>& lines, std::size_t i) const {
    const Line& left = lines[i - 1];
    const Line& right = lines[i];
    const std::size_t at = right.begin;
    const std::size_t side = std::min({kVisible, left.end - left.begin, right.end - right.begin});
    const auto slope = [&](const Line& line) {
      return line.sloping ? sums_.slope(line.begin, line.end) : 0;
    };
    const auto runs = static_cast<double>(side);
    const double moved = runs * (slope(left) + slope(right)) / 2;
    const double jump = sums_.mean(at, at + side) - sums_.mean(at - side, at) - moved;
    return jump * jump > kVisibleZ * kVisibleZ * 2 / runs * prices_.unit;
  }

  // Tries what may replace the step in front of line `i`. Returns whether something did.
  bool join_at(std::vector<Line>& lines, std::size_t i) const {
    const std::size_t first = chain_begin(lines, i - 1);
    const std::size_t last = chain_end(lines, i);
    // Beside a slope there may be no step, unless the runs beside it show one.
    double best = may_be_smooth(lines, i) && !is_visible(lines, i)
                      ? std::numeric_limits<double>::infinity()
                      : price(lines, first, last);
    std::vector<Line> chosen;
    std::vector<Line> part(lines.begin() + static_cast<std::ptrdiff_t>(first),
                           lines.begin() + static_cast<std::ptrdiff_t>(last));
    const std::size_t at = i - first;
    const auto keep_best = [&](std::vector<Line>& tried, double cost) {
      if (cost >= best) return;
      best = cost;
      chosen = std::move(tried);
    };
    for (int slopes = 0; slopes < 4; ++slopes) {
      std::vector<Line> tried = part;
      tried[at].jump = false;
      tried[at - 1].sloping = tried[at - 1].sloping || (slopes & 1) != 0;
      tried[at].sloping = tried[at].sloping || (slopes & 2) != 0;
      if (!tried[at - 1].sloping && !tried[at].sloping) continue;
      const double cost = place_joint(tried, at, 0, tried.size());
      keep_best(tried, cost);
    }
    std::vector<Line> merged = part;
    merged[at - 1].end = merged[at].end;
    merged[at - 1].sloping = true;
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(at));
    const double cost = price(merged, 0, merged.size());
    keep_best(merged, cost);
    if (chosen.empty()) return false;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first),
                lines.begin() + static_cast<std::ptrdiff_t>(last));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first), chosen.begin(), chosen.end());
    return true;
  }

  // Tries a slope in place of the flat line `i` between two steps that go one way.
  bool join_stairs(std::vector<Line>& lines, std::size_t i) const {
    if (i + 1 >= lines.size() || !lines[i + 1].jump) return false;
    const auto level = [&](const Line& line) { return sums_.mean(line.begin, line.end); };
    const bool flat = !lines[i - 1].sloping && !lines[i].sloping && !lines[i + 1].sloping;
    const bool up = level(lines[i]) > level(lines[i - 1]);
    if (!flat || (level(lines[i + 1]) > level(lines[i])) != up) return false;
    const std::size_t first = chain_begin(lines, i - 1);
    const std::size_t last = chain_end(lines, i + 1);
    std::vector<Line> tried(lines.begin() + static_cast<std::ptrdiff_t>(first),
                            lines.begin() + static_cast<std::ptrdiff_t>(last));
    const std::size_t at = i - first;
    tried[at].sloping = true;
    tried[at].jump = tried[at + 1].jump = false;
    double cost = 0;
    // The joints depend on each other; two rounds place them.
    for (int round = 0; round < 2; ++round) {
      (void)place_joint(tried, at, 0, tried.size());
      cost = place_joint(tried, at + 1, 0, tried.size());
    }
    if (cost >= price(lines, first, last)) return false;
    std::ranges::copy(tried, lines.begin() + static_cast<std::ptrdiff_t>(first));
    return true;
  }

  // Tries to give the runs of the short line `i` to its neighbours, which then meet.
  bool drop_short(std::vector<Line>& lines, std::size_t i) const {
    if (i + 1 >= lines.size() || lines[i].end - lines[i].begin >= kLeastDrift) return false;
    if (!lines[i - 1].sloping && !lines[i + 1].sloping) return false;
    const std::size_t first = chain_begin(lines, i - 1);
    const std::size_t last = chain_end(lines, i + 1);
    std::vector<Line> tried(lines.begin() + static_cast<std::ptrdiff_t>(first),
                            lines.begin() + static_cast<std::ptrdiff_t>(last));
    const std::size_t at = i - first;
    tried[at + 1].begin = tried[at].begin;
    tried[at + 1].jump = false;
    tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(at));
    if (place_joint(tried, at, 0, tried.size()) >= price(lines, first, last)) return false;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    std::ranges::copy(tried, lines.begin() + static_cast<std::ptrdiff_t>(first));
    return true;
  }

  std::span<const double> values_;
  const LineSums& sums_;
  Prices prices_;
};

// A movement along one line.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  double before = 0;
  double moved = 0;
  // A step or nothing parts it from the stretch before, no flat line.
  bool adjacent = false;
};

std::vector<Stretch> stretches_of(std::span<const double> values, std::span<const Line> lines) {
  std::vector<Stretch> out;
  bool adjacent = false;
  for (std::size_t first = 0; first < lines.size();) {
    std::size_t last = first + 1;
    while (last < lines.size() && !lines[last].jump) ++last;
    const auto chain = lines.subspan(first, last - first);
    const std::vector<Node> nodes = fit_chain(values, chain).nodes;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (!chain[i].sloping) {
        adjacent = adjacent && chain[i].end - chain[i].begin < kLeastDrift && i > 0 &&
                   i + 1 < chain.size();
        continue;
      }
      out.push_back({.begin = nodes[i].at,
                     .end = nodes[i + 1].at,
                     .before = nodes[i].level,
                     .moved = nodes[i + 1].level - nodes[i].level,
                     .adjacent = adjacent});
      adjacent = true;
    }
    first = last;
  }
  return out;
}

// Stretches that follow each other and are one drift.
struct Group {
  std::vector<Stretch> parts{};
  double moved = 0;
};

// Joins neighbouring groups while `is_one` says so of their movements.
template <class Predicate>
void join_groups(std::vector<Group>& groups, const Predicate& is_one) {
  for (std::size_t i = 1; i < groups.size();) {
    Group& left = groups[i - 1];
    Group& right = groups[i];
    if (!right.parts.front().adjacent || !is_one(left.moved, right.moved)) {
      ++i;
      continue;
    }
    left.moved += right.moved;
    left.parts.insert(left.parts.end(), right.parts.begin(), right.parts.end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    // The sum may be one with the group before.
    i = std::max<std::size_t>(1, i - 1);
  }
}

// First those that go one way, then a small movement back with the larger one before or behind it.
std::vector<Group> groups_of(const std::vector<Stretch>& stretches) {
  std::vector<Group> groups;
  for (const Stretch& stretch : stretches)
    groups.push_back({.parts = {stretch}, .moved = stretch.moved});
  join_groups(groups, [](double a, double b) { return a * b > 0; });
  join_groups(groups, [](double a, double b) {
    return a * b > 0 ||
           std::min(std::abs(a), std::abs(b)) < kReversal * std::max(std::abs(a), std::abs(b));
  });
  return groups;
}

// Adds to `curve` what the stretch moves.
void add_to(std::vector<double>& curve, const Stretch& stretch) {
  const auto length = static_cast<double>(stretch.end - stretch.begin);
  for (std::size_t t = stretch.begin + 1; t < curve.size(); ++t)
    curve[t] +=
        stretch.moved * static_cast<double>(std::min(t, stretch.end) - stretch.begin) / length;
}

}  // namespace

bool may_move(std::span<const double> values, std::span<const std::size_t> bounds,
              const Noise& noise) {
  const LineSums sums(values);
  const double price = kSlopePrice * noise.factor() * noise.scale * noise.scale;
  for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
    if (bounds[k + 1] - bounds[k] >= kLeastDrift && sums.saved(bounds[k], bounds[k + 1]) > price)
      return true;
  for (std::size_t k = 0; k + 3 < bounds.size(); ++k) {
    const double a = sums.mean(bounds[k], bounds[k + 1]);
    const double b = sums.mean(bounds[k + 1], bounds[k + 2]);
    const double c = sums.mean(bounds[k + 2], bounds[k + 3]);
    if ((b > a) == (c > b)) return true;
  }
  return false;
}

Movement find_movement(std::span<const double> values, const Noise& noise,
                       const MovementSettings& settings) {
  Movement out;
  if (values.size() < kLeastDrift) return out;
  const LineSums sums(values);
  const double unit = noise.factor() * noise.scale * noise.scale;
  std::vector<Line> lines =
      cut_into_lines(sums, values.size(), settings.penalty, kSlopePrice * unit);
  for (std::size_t i = 1; i < lines.size(); ++i) lines[i].jump = true;
  // Steps make noise look correlated; what the lines leave shows how much it is.
  const Noise left = estimate_noise(left_by(values, sums, lines), 0, {});
  const double share =
      std::clamp(std::max(1.0, left.factor()) * left.scale * left.scale / unit, kLeastShare, 1.0);
  const Prices prices{.unit = share * unit,
                      .line = share * settings.penalty,
                      .slope = share * kSlopePrice * unit,
                      .jump = share * kJumpPrice * settings.penalty};
  Joiner(values, sums, prices).join(lines);
  out.curve.assign(values.size(), 0);
  for (const Group& group : groups_of(stretches_of(values, lines))) {
    const std::size_t begin = group.parts.front().begin;
    const std::size_t end = group.parts.back().end;
    if (end + 1 < begin + kLeastDrift ||
        std::abs(group.moved) < std::max(2 * settings.least_step, kLeastTotal * noise.marginal()))
      continue;
    for (const Stretch& part : group.parts) add_to(out.curve, part);
    const double before = group.parts.front().before;
    const auto length = static_cast<double>(end - begin);
    out.drifts.push_back({.begin = begin,
                          .end = end,
                          .before = before,
                          .after = before + group.moved,
                          .deviation = std::sqrt(12 * noise.factor() / length) * noise.scale});
  }
  if (out.drifts.empty()) out.curve.clear();
  for (const Line& line : lines)
    if (line.jump) out.steps.push_back(line.begin);
  return out;
}

}  // namespace railgauge::analysis

#include "controller/detect/lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "controller/detect/fit.h"

namespace railgauge::analysis {

LineSums::LineSums(std::span<const double> values, std::span<const std::size_t> runs)
    : base_(values.empty() ? 0 : values[values.size() / 2]),
      sum_(values.size() + 1),
      square_(values.size() + 1),
      moment_(values.size() + 1),
      run_sum_(values.size() + 1),
      run_square_(values.size() + 1),
      inverse_(values.size() + 1) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i] - base_;
    const auto run = static_cast<double>(runs[i]);
    sum_[i + 1] = sum_[i] + v;
    square_[i + 1] = square_[i] + v * v;
    moment_[i + 1] = moment_[i] + run * v;
    run_sum_[i + 1] = run_sum_[i] + run;
    run_square_[i + 1] = run_square_[i] + run * run;
    inverse_[i + 1] = 1 / static_cast<double>(i + 1);
  }
  if (runs.empty() || runs.back() - runs.front() + 1 != runs.size()) return;
  inverse_spread_.resize(values.size() + 1);
  for (std::size_t length = 2; length <= values.size(); ++length) {
    const auto n = static_cast<double>(length);
    inverse_spread_[length] = 12 / (n * (n * n - 1));
  }
}

double LineSums::flat(std::size_t begin, std::size_t end) const {
  const double sum = sum_[end] - sum_[begin];
  return std::max(0.0, square_[end] - square_[begin] - sum * sum * inverse_[end - begin]);
}

double LineSums::saved(std::size_t begin, std::size_t end) const {
  const double product = this->product(begin, end);
  return product * product * inverse_spread(begin, end);
}

double LineSums::slope(std::size_t begin, std::size_t end) const {
  return product(begin, end) * inverse_spread(begin, end);
}

double LineSums::mean(std::size_t begin, std::size_t end) const {
  return base_ + (sum_[end] - sum_[begin]) * inverse_[end - begin];
}

double LineSums::mean_run(std::size_t begin, std::size_t end) const {
  return (run_sum_[end] - run_sum_[begin]) * inverse_[end - begin];
}

double LineSums::product(std::size_t begin, std::size_t end) const {
  return moment_[end] - moment_[begin] - mean_run(begin, end) * (sum_[end] - sum_[begin]);
}

double LineSums::inverse_spread(std::size_t begin, std::size_t end) const {
  if (!inverse_spread_.empty()) return inverse_spread_[end - begin];
  if (end - begin < 2) return 0;
  const double sum = run_sum_[end] - run_sum_[begin];
  return 1 / (run_square_[end] - run_square_[begin] - sum * sum * inverse_[end - begin]);
}

// The normal equations of a chain: symmetric, with three diagonals.
struct ChainEquations {
  ChainEquations(const LineSums& sums, std::span<const Line> chain) : base(sums.base_) {
    unknown.push_back(0);
    for (const Line& line : chain) {
      nodes.push_back({.at = line.begin});
      unknown.push_back(unknown.back() + (line.sloping ? 1 : 0));
    }
    nodes.push_back({.at = chain.back().end - 1});
    const std::size_t size = unknown.back() + 1;
    diagonal.assign(size, 0);
    beside.assign(size, 0);
    right.assign(size, 0);
    squares = sums.square_[chain.back().end] - sums.square_[chain.front().begin];
    for (std::size_t i = 0; i < chain.size(); ++i) add(sums, chain[i], i);
  }

  // Solves the equations for `side`, which the solution replaces.
  void solve(std::vector<double>& side) const {
    std::vector<double> pivot = diagonal;
    for (std::size_t r = 1; r < side.size(); ++r) {
      const double factor = beside[r - 1] / pivot[r - 1];
      pivot[r] -= factor * beside[r - 1];
      side[r] -= factor * side[r - 1];
    }
    for (std::size_t r = side.size(); r-- > 0;) {
      if (r + 1 < side.size()) side[r] -= beside[r] * side[r + 1];
      side[r] /= pivot[r];
    }
  }

  // The levels count from here.
  double base = 0;
  std::vector<Node> nodes{};
  // The unknown of each node.
  std::vector<std::size_t> unknown{};
  std::vector<double> diagonal{};
  std::vector<double> beside{};
  std::vector<double> right{};
  double squares = 0;

 private:
  // Adds the values of line `i`, whose level at place x is (1 - w) a + w b: w is the share of the
  // way from node i to node i + 1.
  void add(const LineSums& sums, const Line& line, std::size_t i) {
    const auto count = static_cast<double>(line.end - line.begin);
    const std::size_t a = unknown[i];
    const std::size_t b = unknown[i + 1];
    const double sum = sums.sum_[line.end] - sums.sum_[line.begin];
    if (a == b) {
      diagonal[a] += count;
      right[a] += sum;
      return;
    }
    const double begin = sums.run(line.begin);
    const double way = std::max(1.0, sums.run(nodes[i + 1].at) - begin);
    const double runs = sums.run_sum_[line.end] - sums.run_sum_[line.begin];
    const double w = (runs - count * begin) / way;
    const double ww = (sums.run_square_[line.end] - sums.run_square_[line.begin] -
                       2 * begin * runs + count * begin * begin) /
                      (way * way);
    const double wy = (sums.moment_[line.end] - sums.moment_[line.begin] - begin * sum) / way;
    diagonal[a] += count - 2 * w + ww;
    diagonal[b] += ww;
    beside[a] += w - ww;
    right[a] += sum - wy;
    right[b] += wy;
  }
};

ChainFit fit_chain(const LineSums& sums, std::span<const Line> chain) {
  ChainEquations equations(sums, chain);
  std::vector<double> levels = equations.right;
  equations.solve(levels);
  ChainFit out{.nodes = std::move(equations.nodes), .cost = equations.squares};
  for (std::size_t r = 0; r < levels.size(); ++r) out.cost -= levels[r] * equations.right[r];
  out.cost = std::max(0.0, out.cost);
  for (std::size_t i = 0; i < out.nodes.size(); ++i)
    out.nodes[i].level = equations.base + levels[equations.unknown[i]];
  return out;
}

double spread_between(const LineSums& sums, std::span<const Line> chain, std::size_t from,
                      std::size_t to) {
  const ChainEquations equations(sums, chain);
  std::vector<double> side(equations.right.size(), 0);
  side[equations.unknown[to]] += 1;
  side[equations.unknown[from]] -= 1;
  equations.solve(side);
  return std::sqrt(std::max(0.0, side[equations.unknown[to]] - side[equations.unknown[from]]));
}

std::size_t chain_end(std::span<const Line> lines, std::size_t i) {
  for (++i; i < lines.size() && !lines[i].jump;) ++i;
  return i;
}

namespace {

// A place where the last line may begin; `dead_at` is the end from which on it is never the best.
struct Start {
  std::size_t at = 0;
  double best = 0;
  std::size_t dead_at = std::numeric_limits<std::size_t>::max();
};

}  // namespace

std::vector<Line> cut_into_lines(const LineSums& sums, const Prices& prices) {
  const std::size_t n = sums.size();
  std::vector<double> best(n + 1, 0);
  std::vector<Line> last(n + 1);
  std::vector<Start> starts{{.at = 0, .best = -prices.line}};
  std::vector<double> unpriced;
  for (std::size_t end = kLeastPiece; end <= n; ++end) {
    std::erase_if(starts, [&](const Start& start) { return start.dead_at <= end; });
    unpriced.assign(starts.size(), 0);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::size_t at = starts[i].at;
      const double flat = starts[i].best + sums.flat(at, end);
      const double line = flat - sums.saved(at, end);
      // The least that these values may cost as a part of any line.
      unpriced[i] = line;
      const bool sloping = end - at >= kLeastLine && line + prices.slope < flat;
      const double priced = sloping ? line + prices.slope : flat;
      if (priced >= least) continue;
      least = priced;
      last[end] = {.begin = at, .end = end, .sloping = sloping, .jump = at > 0};
    }
    best[end] = least + prices.line;
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

namespace {

// Share of the price of a step for one with flat lines all around.
constexpr double kBetweenFlats = 0.5;
// Runs on each side that show a step in a movement, and by how many deviations.
constexpr std::size_t kVisible = 8;
constexpr double kVisibleStepZ = 4;
// Price of a step that these do not show, in prices of a step beside the usual one.
constexpr double kHidden = 1;
// The slope of a curve changes by less than this factor in a few runs at its end.
constexpr double kSteeper = 5;
// Places tried for the joint of two lines.
constexpr std::size_t kKnots = 32;
// Lines on each side of a joint that are fitted anew for a trial; the effect on those beyond fades
// by more than half with each line.
constexpr std::size_t kReach = 4;

class Joiner {
 public:
  Joiner(const LineSums& sums, const Prices& prices) : sums_(sums), prices_(prices) {}

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
  // Lines in reach of a trial, as a copy, and where they come from.
  struct Part {
    std::vector<Line> lines{};
    std::size_t first = 0;
    std::size_t last = 0;
  };

  // The lines that meet line `from` or line `to`, up to kReach beyond each.
  static Part part_of(const std::vector<Line>& lines, std::size_t from, std::size_t to) {
    std::size_t first = from;
    while (first > 0 && !lines[first].jump && from - first < kReach) --first;
    std::size_t last = to + 1;
    while (last < lines.size() && !lines[last].jump && last - to <= kReach) ++last;
    return {.lines = {lines.begin() + static_cast<std::ptrdiff_t>(first),
                      lines.begin() + static_cast<std::ptrdiff_t>(last)},
            .first = first,
            .last = last};
  }

  // Puts `chosen` in the place of `part`.
  static void replace(std::vector<Line>& lines, const Part& part, const std::vector<Line>& chosen) {
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(part.first);
    lines.erase(at, lines.begin() + static_cast<std::ptrdiff_t>(part.last));
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(part.first), chosen.begin(),
                 chosen.end());
  }

  // Reports whether the first or last line of a chain is a step in the shape of a slope: of few
  // runs and steeper than the line beside it. A curve may bend in few runs, but not so.
  [[nodiscard]] bool ends_in_step(std::span<const Line> chain, const ChainFit& fit) const {
    const auto slope = [&](std::size_t i) {
      const double way = sums_.run(fit.nodes[i + 1].at) - sums_.run(fit.nodes[i].at);
      return std::abs(fit.nodes[i + 1].level - fit.nodes[i].level) / std::max(1.0, way);
    };
    const auto is_step = [&](std::size_t end, std::size_t beside) {
      return chain[end].sloping && chain[end].end - chain[end].begin < kLeastLine &&
             slope(end) > kSteeper * slope(beside);
    };
    const std::size_t last = chain.size() - 1;
    return last > 0 && (is_step(0, 1) || is_step(last, last - 1));
  }

  // Cost of the lines, prices included; infinite where one is no slope.
  [[nodiscard]] double price(std::span<const Line> lines) const {
    double cost = 0;
    for (std::size_t i = 0; i < lines.size();) {
      const std::size_t end = chain_end(lines, i);
      const auto chain = lines.subspan(i, end - i);
      const ChainFit fit = fit_chain(sums_, chain);
      cost += fit.cost;
      if (ends_in_step(chain, fit)) return std::numeric_limits<double>::infinity();
      if (i > 0) cost += (may_be_smooth(lines, i) ? 1 : kBetweenFlats) * prices_.jump;
      i = end;
    }
    for (const Line& line : lines) cost += prices_.line + (line.sloping ? prices_.slope : 0);
    return cost;
  }

  // Moves the joint in front of line `i` to where the lines fit best. Returns their price.
  double place_joint(std::vector<Line>& lines, std::size_t i) const {
    const std::size_t low = lines[i - 1].begin + kLeastPiece - 1;
    const std::size_t high = lines[i].end - kLeastPiece;
    std::size_t best_at = lines[i].begin;
    double best = std::numeric_limits<double>::infinity();
    const auto attempt = [&](std::size_t at) {
      lines[i - 1].end = lines[i].begin = at;
      const double cost = price(lines);
      if (cost >= best) return;
      best = cost;
      best_at = at;
    };
    attempt(best_at);
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

  [[nodiscard]] static bool may_be_smooth(std::span<const Line> lines, std::size_t i) {
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
    const double way = sums_.mean_run(at, at + side) - sums_.mean_run(at - side, at);
    const double moved = way * (slope(left) + slope(right)) / 2;
    const double jump = sums_.mean(at, at + side) - sums_.mean(at - side, at) - moved;
    return jump * jump >
           kVisibleStepZ * kVisibleStepZ * 2 / static_cast<double>(side) * prices_.unit;
  }

  // Tries what may replace the step in front of line `i`. Returns whether something did.
  bool join_at(std::vector<Line>& lines, std::size_t i) const {
    const Part part = part_of(lines, i - 1, i);
    // Beside a slope a step has to be worth more, unless the runs beside it show it.
    double best = price(part.lines);
    if (may_be_smooth(lines, i) && !is_visible(lines, i)) best += kHidden * prices_.jump;
    std::vector<Line> chosen;
    const std::size_t at = i - part.first;
    const auto keep_best = [&](std::vector<Line>& tried, double cost) {
      if (cost >= best) return;
      best = cost;
      chosen = std::move(tried);
    };
    for (int slopes = 0; slopes < 4; ++slopes) {
      std::vector<Line> tried = part.lines;
      tried[at].jump = false;
      tried[at - 1].sloping = tried[at - 1].sloping || (slopes & 1) != 0;
      tried[at].sloping = tried[at].sloping || (slopes & 2) != 0;
      if (!tried[at - 1].sloping && !tried[at].sloping) continue;
      const double cost = place_joint(tried, at);
      keep_best(tried, cost);
    }
    std::vector<Line> merged = part.lines;
    merged[at - 1].end = merged[at].end;
    merged[at - 1].sloping = true;
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(at));
    keep_best(merged, price(merged));
    if (chosen.empty()) return false;
    replace(lines, part, chosen);
    return true;
  }

  // Tries a slope in place of the flat line `i` between two steps that go one way.
  bool join_stairs(std::vector<Line>& lines, std::size_t i) const {
    if (i + 1 >= lines.size() || !lines[i + 1].jump) return false;
    const auto level = [&](const Line& line) { return sums_.mean(line.begin, line.end); };
    const bool flat = !lines[i - 1].sloping && !lines[i].sloping && !lines[i + 1].sloping;
    const bool up = level(lines[i]) > level(lines[i - 1]);
    if (!flat || (level(lines[i + 1]) > level(lines[i])) != up) return false;
    const Part part = part_of(lines, i - 1, i + 1);
    std::vector<Line> tried = part.lines;
    const std::size_t at = i - part.first;
    tried[at].sloping = true;
    tried[at].jump = tried[at + 1].jump = false;
    double cost = 0;
    // The joints depend on each other; two rounds place them.
    for (int round = 0; round < 2; ++round) {
      place_joint(tried, at);
      cost = place_joint(tried, at + 1);
    }
    if (cost >= price(part.lines)) return false;
    replace(lines, part, tried);
    return true;
  }

  // Tries to give the runs of the short line `i` to its neighbours, which then meet.
  bool drop_short(std::vector<Line>& lines, std::size_t i) const {
    if (i + 1 >= lines.size() || lines[i].end - lines[i].begin >= kLeastDrift) return false;
    if (!lines[i - 1].sloping && !lines[i + 1].sloping) return false;
    const Part part = part_of(lines, i - 1, i + 1);
    std::vector<Line> tried = part.lines;
    const std::size_t at = i - part.first;
    tried[at + 1].begin = tried[at].begin;
    tried[at + 1].jump = false;
    tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(at));
    if (place_joint(tried, at) >= price(part.lines)) return false;
    replace(lines, part, tried);
    return true;
  }

  const LineSums& sums_;
  Prices prices_;
};

}  // namespace

void join_lines(const LineSums& sums, const Prices& prices, std::vector<Line>& lines) {
  Joiner(sums, prices).join(lines);
}

}  // namespace railgauge::analysis

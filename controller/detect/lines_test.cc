#include "controller/detect/lines.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "controller/detect/fit.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr Prices kPrices{.unit = 1, .line = 14, .slope = 15.2, .jump = 14};

std::vector<std::size_t> runs_of(std::size_t count, std::size_t every) {
  std::vector<std::size_t> out;
  for (std::size_t run = 0; out.size() < count; ++run)
    if (every == 0 || run % every != 1) out.push_back(run);
  return out;
}

// The cost of a chain with the given levels at its nodes, value by value.
double cost_of(const std::vector<double>& values, const std::vector<std::size_t>& runs,
               std::span<const Line> chain, const std::vector<Node>& nodes) {
  double cost = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const auto begin = static_cast<double>(runs[nodes[i].at]);
    const double way = static_cast<double>(runs[nodes[i + 1].at]) - begin;
    for (std::size_t t = chain[i].begin; t < chain[i].end; ++t) {
      const double w = (static_cast<double>(runs[t]) - begin) / way;
      const double away = values[t] - std::lerp(nodes[i].level, nodes[i + 1].level, w);
      cost += away * away;
    }
  }
  return cost;
}

const std::vector<Line> kChain{{.begin = 0, .end = 20},
                               {.begin = 20, .end = 45, .sloping = true},
                               {.begin = 45, .end = 60, .sloping = true},
                               {.begin = 60, .end = 90}};

TEST(Lines, AChainIsFittedByLeastSquares) {
  for (const std::size_t every : {0U, 4U}) {
    const std::vector<double> values = null_series(Null::kGaussian, 90, 3);
    const std::vector<std::size_t> runs = runs_of(90, every);
    const ChainFit fit = fit_chain(LineSums(values, runs), kChain);
    EXPECT_NEAR(cost_of(values, runs, kChain, fit.nodes), fit.cost, 1e-8);
    EXPECT_EQ(fit.nodes[0].level, fit.nodes[1].level) << "both ends of a flat line";
    // No other levels fit better: each of the three that are free.
    for (const std::vector<std::size_t>& same :
         {std::vector<std::size_t>{0, 1}, std::vector<std::size_t>{2},
          std::vector<std::size_t>{3, 4}})
      for (const double by : {-0.01, 0.01}) {
        std::vector<Node> nodes = fit.nodes;
        for (const std::size_t node : same) nodes[node].level += by;
        EXPECT_GT(cost_of(values, runs, kChain, nodes), fit.cost);
      }
  }
}

TEST(Lines, LargeLevelsLoseNoDigits) {
  std::vector<double> values = null_series(Null::kGaussian, 90, 4);
  const std::vector<std::size_t> runs = runs_of(90, 0);
  const double cost = fit_chain(LineSums(values, runs), kChain).cost;
  for (double& v : values) v += 1e9;
  EXPECT_NEAR(fit_chain(LineSums(values, runs), kChain).cost, cost, 1e-4);
}

TEST(Lines, TheSpreadBetweenNodesIsThatOfTheirDifference) {
  const std::vector<std::size_t> runs = runs_of(90, 0);
  double squares = 0;
  constexpr int kSeries = 2000;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values =
        null_series(Null::kGaussian, 90, 100 + static_cast<std::uint64_t>(i));
    const std::vector<Node> nodes = fit_chain(LineSums(values, runs), kChain).nodes;
    squares += std::pow(nodes[3].level - nodes[1].level, 2);
  }
  const double spread = spread_between(LineSums(std::vector<double>(90, 1.0), runs), kChain, 1, 3);
  EXPECT_NEAR(std::sqrt(squares / kSeries), spread, 0.05 * spread);
}

// The price of the best cut, by trying all.
double least_price(const LineSums& sums, std::size_t n) {
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  best[0] = 0;
  for (std::size_t end = kLeastPiece; end <= n; ++end)
    for (std::size_t at = 0; at + kLeastPiece <= end; ++at) {
      const double flat = sums.flat(at, end);
      const double line =
          end - at < kLeastLine ? flat : std::min(flat, flat - sums.saved(at, end) + kPrices.slope);
      best[end] = std::min(best[end], best[at] + line + kPrices.line);
    }
  return best[n];
}

TEST(Lines, TheCutIsTheCheapest) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Chance chance(seed);
    std::vector<double> values;
    double level = 0;
    double slope = 0;
    for (int i = 0; i < 150; ++i) {
      if (chance.uniform() < 0.03) level += 6 * chance.normal();
      if (chance.uniform() < 0.05) slope = chance.uniform() < 0.5 ? 0 : 0.5 * chance.normal();
      values.push_back((level += slope) + chance.normal());
    }
    const LineSums sums(values, runs_of(150, 0));
    const std::vector<Line> lines = cut_into_lines(sums, kPrices);
    double price = 0;
    for (const Line& line : lines)
      price += kPrices.line + sums.flat(line.begin, line.end) -
               (line.sloping ? sums.saved(line.begin, line.end) - kPrices.slope : 0);
    EXPECT_NEAR(price, least_price(sums, 150), 1e-6) << seed;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i].begin, lines[i - 1].end);
      EXPECT_TRUE(lines[i].jump);
    }
  }
}

TEST(Lines, LinesThatMeetAreJoinedAndStepsAreNot) {
  std::vector<double> values = null_series(Null::kGaussian, 160, 5);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += i < 60 ? 0 : 0.3 * static_cast<double>(i - 60) + (i >= 110 ? -12 : 0);
  const LineSums sums(values, runs_of(160, 0));
  std::vector<Line> lines = cut_into_lines(sums, kPrices);
  join_lines(sums, kPrices, lines);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_FALSE(lines[1].jump) << "the bend at 60";
  EXPECT_NEAR(static_cast<double>(lines[1].begin), 60, 8);
  EXPECT_TRUE(lines[2].jump);
  EXPECT_NEAR(static_cast<double>(lines[2].begin), 110, 1);
}

}  // namespace
}  // namespace railgauge::analysis

// Movements, stairs and missing runs through the whole detector: what is one drift, what is one
// step, what is neither.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "controller/detect/changes.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> noise(std::size_t runs, std::uint64_t seed, double deviation = 1) {
  std::vector<double> out = null_series(Null::kGaussian, runs, seed);
  for (double& v : out) v = 100 + deviation * (v - 100);
  return out;
}

std::size_t count(const Findings& found, ChangeKind kind) {
  return static_cast<std::size_t>(std::ranges::count(found.changes, kind, &Change::kind));
}

// Series of `make` with changes or with more than one spike in all of them.
template <class Make>
std::size_t alarms(std::size_t missing, const Make& make) {
  std::size_t out = 0;
  std::size_t spikes = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Chance chance(seed);
    std::vector<double> values = make(seed);
    for (std::size_t k = 0; k < missing; ++k)
      values[static_cast<std::size_t>(chance.uniform() * static_cast<double>(values.size()))] =
          kNaN;
    const Findings found = detect_changes(values, {});
    EXPECT_EQ(found.cycle_runs, 7U) << seed;
    out += found.changes.empty() ? 0 : 1;
    spikes += found.spikes.size();
  }
  EXPECT_LE(spikes, 2U);
  return out;
}

TEST(Movements, AWeekStaysQuietWhereRunsAreMissing) {
  for (const std::size_t missing : {0U, 1U, 2U, 5U, 20U}) {
    EXPECT_LE(alarms(missing,
                     [](std::uint64_t seed) {
                       std::vector<double> values = noise(140, seed);
                       for (std::size_t i = 0; i < values.size(); ++i)
                         values[i] -= i % 7 >= 5 ? 6 : 0;
                       return values;
                     }),
              1U)
        << missing;
    EXPECT_LE(alarms(missing,
                     [](std::uint64_t seed) {
                       std::vector<double> values = noise(140, seed + 500);
                       for (std::size_t i = 0; i < values.size(); ++i)
                         values[i] +=
                             3 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / 7);
                       return values;
                     }),
              1U)
        << missing;
  }
}

TEST(Movements, AStepInAWeekWithMissingRunsIsFound) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = noise(140, seed);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += (i % 7 >= 5 ? -6 : 0) + (i >= 80 ? 4 : 0);
    for (const std::size_t i : {3U, 40U, 41U, 97U}) values[i] = kNaN;
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << seed;
    EXPECT_NEAR(static_cast<double>(found.changes[0].index), 80, 2) << seed;
    EXPECT_NEAR(found.changes[0].effect, 0.04, 0.01) << seed;
  }
}

TEST(Movements, ATrendWithAGapIsOneDrift) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = noise(140, seed);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.2 * static_cast<double>(i);
    std::fill(values.begin() + 60, values.begin() + 90, kNaN);
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << seed;
    EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift) << seed;
    EXPECT_NEAR(found.changes[0].effect, 0.28, 0.04) << seed;
  }
}

TEST(Movements, ASlowTrendIsADriftWhereOneStepNearlyExplainsIt) {
  std::size_t drifts = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<double> values = noise(90, seed + 300);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.05 * static_cast<double>(i);
    const Findings found = detect_changes(values, {});
    drifts += found.changes.size() == 1 && found.changes[0].kind == ChangeKind::kDrift ? 1 : 0;
  }
  EXPECT_GE(drifts, 57U);
}

// Slopes of 30 runs each.
std::vector<double> slopes(const std::vector<double>& each, std::uint64_t seed) {
  std::vector<double> values = noise(30 * each.size(), seed);
  double level = 0;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += level += each[i / 30];
  return values;
}

TEST(Movements, ADriftThatIsNotProvenTakesNoneAway) {
  std::size_t risen = 0;
  std::size_t nothing = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Findings found = detect_changes(slopes({0, 0.22, 0.1, -0.12}, seed), {});
    nothing += found.changes.empty() ? 1 : 0;
    risen += std::ranges::any_of(found.changes,
                                 [](const Change& change) {
                                   return change.kind == ChangeKind::kDrift && change.effect > 0.06;
                                 })
                 ? 1
                 : 0;
    nothing += detect_changes(slopes({0.13, -0.04, -0.1, 0.11}, seed), {}).changes.empty() ? 1 : 0;
  }
  EXPECT_EQ(nothing, 0U);
  EXPECT_GE(risen, 57U);
}

// Stairs of `height` every `length` runs.
std::vector<double> stairs(std::size_t runs, std::size_t length, double height) {
  std::vector<double> values;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::size_t step = i / length;
    values.push_back(100 + height * static_cast<double>(step));
  }
  return values;
}

TEST(Movements, ManyEvenStairsAreOneDrift) {
  for (const std::size_t runs : {365U, 1000U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < runs; ++i)
      values.push_back(
          std::round(100 + 30 * static_cast<double>(i) / static_cast<double>(runs - 1)));
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << runs;
    EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift) << runs;
    EXPECT_NEAR(found.changes[0].after - found.changes[0].before, 30, 1.5) << runs;
    EXPECT_LT(found.changes[0].first, 20U) << runs;
    EXPECT_GT(found.changes[0].last + 20, runs) << runs;
  }
}

TEST(Movements, SmoothCurvesWithoutNoiseAreOneDrift) {
  const auto curves = {+[](double x) { return 100 + 60 * x * x; },
                       +[](double x) { return 100 + 20 * (1 - std::exp(-3 * x)); },
                       +[](double x) { return 100 + 20 / (1 + std::exp(-12 * (x - 0.5))); },
                       +[](double x) { return 100 * std::exp(3 * x); },
                       +[](double x) { return 100 / (1 + 5 * x); },
                       +[](double x) { return 100 + 10 * (1 - std::cos(2.8 * x)); }};
  std::size_t curve = 0;
  for (const auto at : curves) {
    ++curve;
    for (const std::size_t runs : {30U, 60U, 200U, 365U, 1000U})
      for (const double least_noise : {0.0, 5e-4}) {
        std::vector<double> values;
        for (std::size_t i = 0; i < runs; ++i)
          values.push_back(at(static_cast<double>(i) / static_cast<double>(runs - 1)));
        const Findings found = detect_changes(values, {.least_noise = least_noise});
        ASSERT_EQ(found.changes.size(), 1U) << curve << " " << runs << " " << least_noise;
        EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift) << curve << " " << runs;
      }
  }
}

TEST(Movements, EvenStairsAreStepsOrOneDriftAndNoSeason) {
  for (const std::size_t length : {12U, 15U, 20U, 25U, 30U})
    for (const double height : {-1.0, 1.0}) {
      const Findings found = detect_changes(stairs(200, length, height), {});
      EXPECT_EQ(found.cycle_runs, 0U) << length;
      const std::size_t steps = count(found, ChangeKind::kStep);
      const std::size_t drifts = count(found, ChangeKind::kDrift);
      EXPECT_TRUE((steps == 0 && drifts == 1) || (steps == 199 / length && drifts == 0))
          << length << ": " << steps << " steps, " << drifts << " drifts";
      EXPECT_TRUE(length < 20 || drifts == 0) << "large steps";
      for (const Change& change : found.changes)
        EXPECT_EQ(change.effect > 0, height > 0) << length << " " << change.index;
    }
}

TEST(Movements, LargeStairsWithLittleNoiseAreSteps) {
  for (const std::size_t length : {10U, 20U, 40U}) {
    const std::size_t runs = std::min<std::size_t>(200, 10 * length);
    std::vector<double> values = stairs(runs, length, 5);
    const std::vector<double> little = noise(runs, length, 0.1);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += little[i] - 100;
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), (runs - 1) / length) << length;
    for (std::size_t k = 0; k < found.changes.size(); ++k) {
      EXPECT_EQ(found.changes[k].kind, ChangeKind::kStep) << length;
      EXPECT_EQ(found.changes[k].index, (k + 1) * length) << length;
      EXPECT_NEAR(found.changes[k].after - found.changes[k].before, 5, 0.2) << length;
    }
  }
}

TEST(Movements, AStepThatTakesSomeRunsIsOne) {
  for (const double deviation : {0.3, 1.0})
    for (const double height : {8.0, -8.0, 30.0})
      for (std::size_t taken = 1; taken <= 6; ++taken) {
        std::size_t one = 0;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          std::vector<double> values = noise(120, 100 * taken + seed, deviation);
          for (std::size_t i = 60; i < values.size(); ++i)
            values[i] += height * static_cast<double>(std::min(i - 59, taken + 1)) /
                         static_cast<double>(taken + 1);
          const Findings found = detect_changes(values, {});
          if (found.changes.size() != 1 || found.changes[0].kind != ChangeKind::kStep) continue;
          const Change& step = found.changes[0];
          ++one;
          EXPECT_NEAR(step.after - step.before, height, deviation) << taken;
          EXPECT_GE(step.index, 58U) << taken;
          EXPECT_LE(step.index, 60 + taken) << taken;
          EXPECT_LE(step.first, 60 + (taken + 1) / 2) << taken;
          EXPECT_GE(step.last + 1, 60 + (taken + 1) / 2) << taken;
        }
        EXPECT_GE(one, 19U) << height << " in " << taken << " runs, noise " << deviation;
      }
}

TEST(Movements, TwoStepsTheSameWayAreTwo) {
  std::vector<double> values = noise(120, 7);
  for (std::size_t i = 40; i < values.size(); ++i) values[i] += i < 60 ? 6 : 12;
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_EQ(count(found, ChangeKind::kStep), 2U);
}

TEST(Movements, AStepInTheLastRunsOfATrendIsFound) {
  std::size_t series = 0;
  std::size_t right = 0;
  for (std::size_t left = 3; left <= 8; ++left)
    for (std::uint64_t seed = 0; seed < 30; ++seed)
      for (const double size : {-6.0, 6.0}) {
        std::vector<double> values = noise(120, seed + 1000 * left);
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] += 0.15 * static_cast<double>(i) + (i >= 120 - left ? size : 0);
        const Findings found = detect_changes(values, {});
        ++series;
        right += std::ranges::any_of(found.changes,
                                     [&](const Change& change) {
                                       return change.kind == ChangeKind::kStep &&
                                              change.index + left + 1 >= 120 &&
                                              change.index + left <= 121 &&
                                              (change.effect > 0) == (size > 0);
                                     }) &&
                         count(found, ChangeKind::kDrift) == 1
                     ? 1
                     : 0;
      }
  EXPECT_GE(right, series * 97 / 100) << series;
}

TEST(Movements, AFallAtTheEndOfARiseIsItsOwnChange) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = noise(120, seed, 0.7);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] +=
          i < 100 ? 0.1 * static_cast<double>(i) : 10 - 4.9 * static_cast<double>(i - 100) / 19;
    const Findings found = detect_changes(values, {});
    ASSERT_GE(found.changes.size(), 2U) << seed;
    EXPECT_NEAR(found.changes[0].effect, 0.1, 0.025) << seed;
    EXPECT_LT(found.changes.back().effect, -0.02) << seed;
  }
}

TEST(Movements, ASpreadMayChangeInsideOfADrift) {
  std::size_t right = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values = noise(200, seed);
    for (std::size_t i = 100; i < values.size(); ++i) values[i] = 100 + 4 * (values[i] - 100);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.3 * static_cast<double>(i);
    const Findings found = detect_changes(values, {});
    const bool is_wider = std::ranges::any_of(found.changes, [](const Change& change) {
      return change.kind == ChangeKind::kVariance && change.index + 10 >= 100 &&
             change.index <= 110 && change.effect > 1;
    });
    right += is_wider && count(found, ChangeKind::kDrift) == 1 ? 1 : 0;
  }
  EXPECT_GE(right, 18U);
}

TEST(Movements, AnEvenLineThroughZeroIsOneDriftAndNothingElse) {
  for (const double step : {0.1, 1.0 / 3, 0.01})
    for (const std::size_t runs : {40U, 100U}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < runs; ++i)
        values.push_back(-5 * step + step * static_cast<double>(i));
      const Findings found = detect_changes(values, {});
      EXPECT_EQ(found.cycle_runs, 0U) << step << " " << runs;
      ASSERT_EQ(found.changes.size(), 1U) << step << " " << runs;
      EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift);
    }
}

}  // namespace
}  // namespace railgauge::analysis

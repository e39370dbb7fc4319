// Whatever comes in, the detector answers with indices that are there and figures that are numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/detect/changes.h"
#include "controller/verdict/testing/families.h"

namespace railgauge::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_sane(const Findings& found, std::span<const double> values, const std::string& what) {
  std::size_t previous = 0;
  for (const Change& change : found.changes) {
    EXPECT_LT(change.index, values.size()) << what;
    EXPECT_LT(change.last, values.size()) << what;
    EXPECT_LE(change.first, change.last) << what;
    EXPECT_LE(previous, change.index) << what;
    EXPECT_TRUE(std::isfinite(values[change.index])) << what;
    EXPECT_TRUE(std::isfinite(change.before) && std::isfinite(change.after)) << what;
    EXPECT_FALSE(std::isnan(change.effect) || std::isnan(change.effect_low)) << what;
    EXPECT_TRUE(change.p >= 0 && change.p <= 1) << what;
    previous = change.index;
  }
  for (const Spike& spike : found.spikes) {
    EXPECT_LT(spike.index, values.size()) << what;
    EXPECT_TRUE(std::isfinite(spike.expected)) << what;
  }
}

TEST(ChangesProperty, OddValuesAreHandled) {
  constexpr double kOdd[] = {kNaN,  kInfinity, -kInfinity, 0.0,    -0.0,  -5.0,
                             1e308, -1e308,    5e-324,     1e-300, 100.0, 100.0001};
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Chance chance(seed);
    std::vector<double> values(static_cast<std::size_t>(chance.uniform() * 80));
    const double share = chance.uniform();
    for (double& v : values)
      v = chance.uniform() < share ? kOdd[static_cast<std::size_t>(chance.uniform() * 12)]
                                   : 100 + chance.normal();
    expect_sane(detect_changes(values, {}), values, std::to_string(seed));
  }
}

TEST(ChangesProperty, AConstantSeriesHasNothingToTell) {
  for (const double level : {0.0, 1.0, -3.0, 1e-300, 1e300, 5e-324})
    for (const std::size_t runs : {0U, 1U, 2U, 11U, 12U, 90U, 365U}) {
      const std::vector<double> values(runs, level);
      const Findings found = detect_changes(values, {});
      EXPECT_TRUE(found.changes.empty()) << level << " " << runs;
      EXPECT_TRUE(found.spikes.empty()) << level << " " << runs;
      EXPECT_EQ(found.too_few, runs < kMinRuns);
    }
}

TEST(ChangesProperty, AConstantSeriesThatMovesHasOneStep) {
  for (const double before : {0.0, 1.0, -3.0, 1e12}) {
    std::vector<double> values(60, before);
    for (std::size_t i = 40; i < values.size(); ++i)
      values[i] = before + (before == 0 ? 1 : before);
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << before;
    EXPECT_EQ(found.changes[0].index, 40U) << before;
    EXPECT_EQ(found.changes[0].kind, ChangeKind::kStep) << before;
  }
}

TEST(ChangesProperty, TooFewRunsSayNothing) {
  for (std::size_t runs = 0; runs < kMinRuns; ++runs) {
    std::vector<double> values(runs, 1.0);
    if (runs > 1) values.back() = 50;
    const Findings found = detect_changes(values, {});
    EXPECT_TRUE(found.too_few);
    EXPECT_TRUE(found.changes.empty());
  }
}

TEST(ChangesProperty, MissingRunsChangeOnlyIndices) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto values = step_series(60, 40, 4, seed);
    const Findings dense = detect_changes(values, {});
    std::vector<double> sparse;
    std::vector<std::size_t> place;
    Chance chance(seed);
    for (const double v : values) {
      while (chance.uniform() < 0.3) sparse.push_back(kNaN);
      place.push_back(sparse.size());
      sparse.push_back(v);
    }
    const Findings found = detect_changes(sparse, {});
    ASSERT_EQ(found.changes.size(), dense.changes.size()) << seed;
    for (std::size_t k = 0; k < found.changes.size(); ++k)
      EXPECT_EQ(found.changes[k].index, place[dense.changes[k].index]) << seed;
  }
}

// Series with steps, drifts and nothing, of several families.
std::vector<std::vector<double>> eventful_series() {
  std::vector<std::vector<double>> out;
  std::uint64_t seed = 50;
  for (const Family& family : all_families())
    for (int i = 0; i < 3; ++i) {
      Chance chance(++seed);
      out.push_back(family.make(120, chance).values);
    }
  return out;
}

void expect_same_places(const Findings& one, const Findings& other, std::size_t series) {
  ASSERT_EQ(one.changes.size(), other.changes.size()) << series;
  for (std::size_t k = 0; k < one.changes.size(); ++k) {
    EXPECT_EQ(one.changes[k].kind, other.changes[k].kind) << series;
    EXPECT_EQ(one.changes[k].index, other.changes[k].index) << series;
    EXPECT_EQ(one.changes[k].last, other.changes[k].last) << series;
  }
}

TEST(ChangesProperty, ScaleChangesNothing) {
  const auto all = eventful_series();
  for (std::size_t s = 0; s < all.size(); ++s)
    for (const double factor : {1e-6, 3.0, 1e9}) {
      std::vector<double> scaled = all[s];
      for (double& v : scaled) v *= factor;
      expect_same_places(detect_changes(all[s], {}), detect_changes(scaled, {}), s);
    }
}

// Values that cross zero are judged as they are, others by their logarithms: far from zero these
// differ by little.
TEST(ChangesProperty, AConstantAddedHardlyChangesAnything) {
  const DetectorSettings settings{.least_noise = 0};
  const auto all = eventful_series();
  std::size_t others = 0;
  for (const std::vector<double>& values : all)
    for (const double constant : {-100.0, 1e3, 1e6}) {
      std::vector<double> moved = values;
      for (double& v : moved) v += constant;
      const Findings one = detect_changes(values, settings);
      const Findings other = detect_changes(moved, settings);
      bool same = one.changes.size() == other.changes.size();
      for (std::size_t k = 0; same && k < one.changes.size(); ++k)
        same = one.changes[k].kind == other.changes[k].kind &&
               std::max(one.changes[k].index, other.changes[k].index) <=
                   std::min(one.changes[k].index, other.changes[k].index) + 12;
      others += same ? 0 : 1;
    }
  EXPECT_LE(others, 3 * all.size() / 12);
}

TEST(ChangesProperty, TimeReversedMirrorsSteps) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto values = step_series(30 + seed % 60, 60, 5, seed);
    const std::vector<double> reversed(values.rbegin(), values.rend());
    const Findings one = detect_changes(values, {});
    const Findings other = detect_changes(reversed, {});
    ASSERT_EQ(one.changes.size(), other.changes.size()) << seed;
    for (std::size_t k = 0; k < one.changes.size(); ++k) {
      const Change& mirrored = other.changes[other.changes.size() - 1 - k];
      if (one.changes[k].kind != ChangeKind::kStep) continue;
      ++steps;
      EXPECT_NEAR(static_cast<double>(one.changes[k].index),
                  static_cast<double>(values.size() - mirrored.index), 1)
          << seed;
      EXPECT_NEAR(one.changes[k].before, mirrored.after, 1e-9) << seed;
    }
  }
  EXPECT_GE(steps, 100U);
}

TEST(ChangesProperty, ChangesAreALeastPieceApart) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Chance chance(seed);
    std::vector<double> values(static_cast<std::size_t>(12 + chance.uniform() * 150));
    double level = 100;
    double slope = 0;
    for (double& v : values) {
      if (chance.uniform() < 0.06) level += 8 * chance.normal();
      if (chance.uniform() < 0.05) slope = chance.uniform() < 0.5 ? 0 : chance.normal();
      v = (level += slope) + chance.normal();
    }
    const Findings found = detect_changes(values, {});
    for (std::size_t k = 1; k < found.changes.size(); ++k)
      EXPECT_GE(found.changes[k].index, found.changes[k - 1].index + 3) << seed;
  }
}

TEST(ChangesProperty, EqualInputGivesEqualFindings) {
  for (const Null kind : kAllNulls) {
    const auto values = null_series(kind, 200, 9);
    const Findings one = detect_changes(values, {});
    const Findings other = detect_changes(values, {});
    ASSERT_EQ(one.changes.size(), other.changes.size());
    EXPECT_EQ(one.noise.scale, other.noise.scale);
  }
}

}  // namespace
}  // namespace railgauge::analysis

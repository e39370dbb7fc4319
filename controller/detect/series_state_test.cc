#include "controller/detect/series_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

bool same(const Findings& a, const Findings& b) {
  if (a.changes.size() != b.changes.size() || a.spikes.size() != b.spikes.size()) return false;
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    const Change& x = a.changes[i];
    const Change& y = b.changes[i];
    if (x.index != y.index || x.first != y.first || x.last != y.last || x.kind != y.kind ||
        x.effect != y.effect || x.p != y.p)
      return false;
  }
  for (std::size_t i = 0; i < a.spikes.size(); ++i)
    if (a.spikes[i].index != b.spikes[i].index) return false;
  return a.suspected_since == b.suspected_since && a.runs == b.runs && a.too_few == b.too_few;
}

std::vector<double> eventful(std::uint64_t seed) {
  Chance chance(seed);
  std::vector<double> values = null_series(kAllNulls[seed % 7], 260, seed);
  double level = 0;
  for (double& v : values) {
    if (chance.uniform() < 0.01) level += 5 * chance.normal();
    v += level;
    if (chance.uniform() < 0.02) v = std::numeric_limits<double>::quiet_NaN();
  }
  return values;
}

TEST(SeriesState, OneAtATimeIsTheSameAsAllAtOnceOnEveryPrefix) {
  for (std::uint64_t seed = 0; seed < 21; ++seed) {
    const auto values = eventful(seed);
    SeriesState slow;
    for (std::size_t n = 1; n <= values.size(); ++n) {
      slow.append(values[n - 1], {});
      SeriesState fast;
      fast.append_all(std::span(values).first(n), {});
      ASSERT_TRUE(same(slow.findings({}), fast.findings({}))) << seed << " prefix " << n;
      ASSERT_EQ(slow.held(), fast.held());
    }
  }
}

TEST(SeriesState, HowRunsArriveDoesNotMatter) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto values = eventful(seed);
    SeriesState whole;
    whole.append_all(values, {});
    SeriesState parts;
    Chance chance(seed + 1000);
    for (std::span<const double> rest = values; !rest.empty();) {
      const auto taken = std::min(rest.size(), static_cast<std::size_t>(1 + 70 * chance.uniform()));
      parts.append_all(rest.first(taken), {});
      rest = rest.subspan(taken);
    }
    EXPECT_TRUE(same(whole.findings({}), parts.findings({}))) << seed;
  }
}

TEST(SeriesState, AStepStaysOnRecordWhenItsRunsHaveLeft) {
  std::vector<double> values = step_series(100, 200, 6, 4);
  SeriesState state;
  for (const double v : values) state.append(v, {});
  EXPECT_LT(state.held(), 90U);
  const Findings found = state.findings({});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found.changes[0].index), 100, 1);
  EXPECT_EQ(found.runs, 300U);
}

TEST(SeriesState, AStepAtAnyPlaceIsToldOnce) {
  std::size_t others = 0;
  for (std::size_t at = 12; at < 180; ++at) {
    const auto values = step_series(at, 200 - at, 8, at);
    SeriesState state;
    state.append_all(values, {});
    const Findings found = state.findings({});
    const auto near = std::ranges::count_if(found.changes, [&](const Change& change) {
      return change.index + 2 >= at && change.index <= at + 2;
    });
    EXPECT_EQ(near, 1) << at;
    others += found.changes.size() - static_cast<std::size_t>(near);
  }
  EXPECT_LE(others, 4U);  // false alarms of 168 series
}

TEST(SeriesState, ADriftLongerThanTheWindowIsOneWithItsWholeSize) {
  std::vector<double> values = null_series(Null::kGaussian, 400, 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.2 * static_cast<double>(i);
  SeriesState state;
  state.append_all(values, {});
  const Findings found = state.findings({});
  ASSERT_EQ(found.changes.size(), 1U);
  const Change& drift = found.changes[0];
  EXPECT_EQ(drift.kind, ChangeKind::kDrift);
  EXPECT_LT(drift.index, 6U);
  EXPECT_GT(drift.last, 393U);
  EXPECT_NEAR(drift.effect, 0.8, 0.04);
  EXPECT_LT(drift.effect_low, 0.8);
  EXPECT_GT(drift.effect_high, 0.8);
}

TEST(SeriesState, AStepInsideOfALongDriftLeavesItWhole) {
  for (const double size : {-10.0, 10.0})
    for (std::size_t at = 30; at < 380; at += 14) {
      std::vector<double> values = null_series(Null::kGaussian, 400, at);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += 0.2 * static_cast<double>(i) + (i >= at ? size : 0);
      SeriesState state;
      state.append_all(values, {});
      const Findings found = state.findings({});
      std::size_t drifts = 0;
      std::size_t steps = 0;
      for (const Change& change : found.changes) {
        if (change.kind == ChangeKind::kStep && change.index + 2 >= at && change.index <= at + 2)
          ++steps;
        if (change.kind != ChangeKind::kDrift) continue;
        ++drifts;
        EXPECT_LT(change.index, 6U) << at;
        EXPECT_GT(change.last, 380U) << at;
        // The step is no part of it: 80 on a level of 100, a little more or less as fractions.
        EXPECT_NEAR(change.effect, 0.8, 0.12) << size << " at " << at;
      }
      EXPECT_EQ(drifts, 1U) << size << " at " << at;
      EXPECT_EQ(steps, 1U) << size << " at " << at;
    }
}

TEST(SeriesState, ASlowTrendIsOneDriftAlsoWhereAWindowSeesLittleOfIt) {
  std::size_t one = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<double> values = null_series(Null::kGaussian, 400, seed + 2000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.05 * static_cast<double>(i);
    SeriesState state;
    state.append_all(values, {});
    const Findings found = state.findings({});
    one += found.changes.size() == 1 && found.changes[0].kind == ChangeKind::kDrift ? 1 : 0;
  }
  EXPECT_GE(one, 33U);
}

TEST(SeriesState, DriftsDoNotOverlapAndChangesAreALeastPieceApart) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Chance chance(seed);
    std::vector<double> values(400);
    double level = 100;
    double slope = 0;
    for (double& v : values) {
      if (chance.uniform() < 0.03) level += 8 * chance.normal();
      if (chance.uniform() < 0.03) slope = chance.uniform() < 0.5 ? 0 : 0.5 * chance.normal();
      v = (level += slope) + chance.normal();
    }
    SeriesState state;
    state.append_all(values, {});
    const Findings found = state.findings({});
    std::size_t last = 0;
    for (std::size_t k = 0; k < found.changes.size(); ++k) {
      const Change& change = found.changes[k];
      EXPECT_LE(change.first, change.index) << seed;
      EXPECT_LE(change.index, change.last) << seed;
      EXPECT_TRUE(k == 0 || change.index >= found.changes[k - 1].index + 3) << seed;
      if (change.kind != ChangeKind::kDrift) continue;
      EXPECT_GE(change.index, last) << seed;
      last = change.last;
    }
  }
}

TEST(SeriesState, ADriftThatFollowsAPauseIsItsOwn) {
  std::vector<double> values = null_series(Null::kGaussian, 320, 8);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 0.3 * static_cast<double>(std::min<std::size_t>(i, 60)) +
                 0.3 * static_cast<double>(std::max<std::size_t>(i, 200) - 200);
  SeriesState state;
  state.append_all(values, {});
  const Findings found = state.findings({});
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found.changes[0].last), 60, 10);
  EXPECT_NEAR(static_cast<double>(found.changes[1].index), 200, 12);
}

TEST(SeriesState, ModesThatComeBackAreNamedAcrossWindows) {
  std::vector<double> values = null_series(Null::kGaussian, 400, 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / 70 % 2 == 1) values[i] += 12;
  SeriesState state;
  state.append_all(values, {});
  const Findings found = state.findings({});
  ASSERT_GE(found.changes.size(), 4U);
  for (const Change& change : found.changes) EXPECT_EQ(change.kind, ChangeKind::kModeMix);
}

TEST(SeriesState, ModesThatAWindowSawAreKnownLater) {
  std::vector<double> values = null_series(Null::kGaussian, 400, 12);
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((i < 40 && i / 8 % 2 == 1) || (i >= 300 && i < 340)) values[i] += 12;
  SeriesState state;
  state.append_all(values, {});
  const Findings found = state.findings({});
  ASSERT_EQ(found.changes.size(), 6U);
  for (const Change& change : found.changes)
    EXPECT_EQ(change.kind, ChangeKind::kModeMix) << change.index;
}

}  // namespace
}  // namespace railgauge::analysis

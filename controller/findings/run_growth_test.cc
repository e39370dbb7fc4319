// Levels are made up.
#include "controller/findings/run_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr double kDelta = 0.02;

class Growth : public testing::Test {
 protected:
  Growth() {
    one_.series = {.series_id = 1, .unit = "ns"};
    series_[1] = &one_;
  }
  static RunEvent event(double before, double after, std::int64_t series = 1) {
    RunEvent out{.kind = MovedKind::kStep, .worse = after / before - 1};
    out.series.push_back({.series = series, .before = before, .after = after});
    return out;
  }
  static store::FindingRow known(store::FindingState state, double before, double after) {
    return {.kind = "step",
            .state = state,
            .worse = after / before - 1,
            .series = {{.series = 1, .before = before, .after = after}}};
  }
  SeriesRuns one_;
  SeriesById series_;
};

// The newest step is never larger than the first; all of them together are.
TEST_F(Growth, EqualStepsGrowWhateverWasSettled) {
  for (const store::FindingState state :
       {store::FindingState::kAccepted, store::FindingState::kFalse,
        store::FindingState::kAcknowledged, store::FindingState::kConfirmed}) {
    EXPECT_FALSE(has_grown(known(state, 100, 103), event(100, 103.5), series_, kDelta))
        << text_of(state);
    EXPECT_TRUE(has_grown(known(state, 100, 103), event(103, 106.1), series_, kDelta))
        << text_of(state);
  }
}

TEST_F(Growth, WhatIsOpenIsHeldAgainstItsBeginningAndWhatWasSettledAgainstThat) {
  for (const store::FindingState state :
       {store::FindingState::kConfirmed, store::FindingState::kAcknowledged,
        store::FindingState::kNew}) {
    RunEvent again = event(103, 133);
    set_reference_levels(known(state, 100, 103), series_, again);
    EXPECT_NEAR(again.worse, 0.33, 1e-9) << text_of(state);
    EXPECT_EQ(again.series[0].before, 100);
  }
  for (const store::FindingState state :
       {store::FindingState::kAccepted, store::FindingState::kFalse}) {
    RunEvent again = event(100, 110);
    set_reference_levels(known(state, 100, 103), series_, again);
    EXPECT_NEAR(again.worse, 110.0 / 103 - 1, 1e-9) << text_of(state);
    EXPECT_EQ(again.series[0].before, 103);
  }
  RunEvent again = event(90, 99);
  set_reference_levels(known(store::FindingState::kFixed, 100, 103), series_, again);
  EXPECT_NEAR(again.worse, 0.1, 1e-9);
}

TEST_F(Growth, SeriesThatNobodySettledAreNotSettled) {
  EXPECT_TRUE(has_grown(known(store::FindingState::kAccepted, 100, 110), event(100, 103, 2),
                        series_, kDelta));
  EXPECT_FALSE(has_grown(known(store::FindingState::kConfirmed, 100, 110), event(100, 103, 2),
                         series_, kDelta));
}

TEST_F(Growth, ASpreadIsHeldAgainstDeviations) {
  RunEvent event{.kind = MovedKind::kVariance, .worse = 1.2};
  event.series.push_back({.series = 1, .before = 1, .after = 2.2});
  store::FindingRow was = known(store::FindingState::kAccepted, 1, 2);
  EXPECT_FALSE(has_grown(was, event, series_, kDelta)) << "a tenth of a spread is chance";
  event.series[0].after = 3;
  EXPECT_TRUE(has_grown(was, event, series_, kDelta));
}

TEST_F(Growth, OfARateLessIsWorse) {
  one_.series.larger_is_better = true;
  EXPECT_TRUE(
      has_grown(known(store::FindingState::kAccepted, 100, 97), event(97, 94), series_, kDelta));
  EXPECT_FALSE(
      has_grown(known(store::FindingState::kAccepted, 100, 97), event(100, 99), series_, kDelta));
}

}  // namespace
}  // namespace railgauge

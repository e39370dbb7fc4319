#include "controller/console/views/series_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

// 40 points with 0.2 % of regular unrest; from the 25th on `factor` times as large.
api::History history(double factor, bool larger_is_better) {
  api::History all;
  all.mutable_series()->set_series_id(7);
  all.mutable_series()->set_larger_is_better(larger_is_better);
  for (int i = 0; i < 40; ++i)
    all.add_points()->set_headline((i < 25 ? 1 : factor) * (1000 + (i * 7919 % 5) - 2));
  return all;
}

TEST(SeriesChanges, AStepHasItsPlaceItsLevelsAndItsDirection) {
  for (const bool larger_is_better : {true, false}) {
    const auto found = changes_of(history(0.8, larger_is_better), {});
    ASSERT_TRUE(found);
    ASSERT_EQ(found->changes_size(), 1);
    const api::SeriesChange& change = found->changes(0);
    EXPECT_EQ(change.index(), 25U);
    EXPECT_LE(change.index_first(), 25U);
    EXPECT_GE(change.index_last(), 25U);
    EXPECT_NEAR(change.before(), 1000, 5);
    EXPECT_NEAR(change.after(), 800, 5);
    EXPECT_NEAR(change.effect_percent(), -20, 1);
    EXPECT_LE(change.effect_low_percent(), change.effect_high_percent());
    EXPECT_EQ(change.worse(), larger_is_better);
  }
}

TEST(SeriesChanges, AnAnswerNamesThePointFromWhichItCounts) {
  api::History all = history(0.8, true);
  EXPECT_FALSE(changes_of(api::History(), {})->has_first_at());
  all.mutable_points(0)->set_measured_at("2026-11-01T00:00:00.000Z");
  EXPECT_EQ(changes_of(all, {})->first_at(), "2026-11-01T00:00:00.000Z");
}

TEST(SeriesChanges, ALevelHasNone) {
  const auto found = changes_of(history(1, true), {});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->too_few());
  EXPECT_EQ(found->changes_size(), 0);
}

TEST(SeriesChanges, FewPointsAreSaidToBeTooFew) {
  api::History few = history(0.5, true);
  few.mutable_points()->DeleteSubrange(5, 35);
  const auto found = changes_of(few, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->too_few());
  EXPECT_FALSE(found->has_noise_percent());
}

TEST(SeriesChanges, MorePointsThanAreSearchedAreRefused) {
  api::History many = history(1, true);
  while (many.points_size() <= kMostSearched) many.add_points()->set_headline(1);
  const auto found = changes_of(many, {});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, testing::HasSubstr("at most 2000 points"));
  api::SeriesChangesRequest request;
  request.set_delta(1);
  EXPECT_FALSE(changes_of(history(1, true), request));
}

}  // namespace
}  // namespace railgauge::console

#include "controller/console/views/series_columns.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/text/json.h"

namespace railgauge::console {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

api::HistoryPoint& add(api::History& history, const char* at, const char* run, std::uint32_t epoch,
                       double headline) {
  api::HistoryPoint& point = *history.add_points();
  point.set_measured_at(at);
  point.set_run_id(run);
  if (epoch > 0) point.set_epoch(epoch);
  point.set_headline(headline);
  return point;
}

TEST(SeriesColumns, TimesAreStepsAndRunsAndStacksAreStretches) {
  api::History history;
  history.mutable_series()->set_series_id(7);
  add(history, "2023-11-14T22:13:20.002Z", "r1", 0, 1);
  add(history, "2023-11-14T22:13:22.000Z", "r1", 7, 2);
  add(history, "2023-11-14T22:13:22.000Z", "r2", 7, 3);
  add(history, "2023-11-14T22:13:29.000Z", "r1", 8, 4);
  const api::SeriesColumns columns = columns_of(history);
  EXPECT_EQ(columns.series().series_id(), 7U);
  EXPECT_EQ(columns.first_unix_ms(), 1'700'000'000'002);
  EXPECT_THAT(columns.steps_ms(), ElementsAre(0, 1998, 0, 7000));
  EXPECT_THAT(columns.headlines(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(columns.run_ids(), ElementsAre("r1", "r2", "r1"));
  EXPECT_THAT(columns.points_of_run(), ElementsAre(2, 1, 1));
  EXPECT_THAT(columns.epochs(), ElementsAre(0, 7, 8));
  EXPECT_THAT(columns.points_of_epoch(), ElementsAre(1, 2, 1));
  EXPECT_FALSE(columns.synthetic());
}

TEST(SeriesColumns, ARatesIntervalIsThatOfTheRateAndAMissingOneIsNoNumber) {
  api::History history;
  for (int i = 0; i < 3; ++i) add(history, "2026-11-20T12:00:00.000Z", "r", 1, 5);
  for (int i = 0; i < 2; ++i) {
    history.mutable_points(i)->set_median_low(4);
    history.mutable_points(i)->set_median_high(6);
  }
  history.mutable_points(1)->set_rate_low(1);
  history.mutable_points(1)->set_rate_high(9);
  history.mutable_points(1)->set_synthetic(true);
  const api::SeriesColumns columns = columns_of(history);
  EXPECT_EQ(columns.lows(0), 4);
  EXPECT_EQ(columns.highs(0), 6);
  EXPECT_EQ(columns.lows(1), 1);
  EXPECT_EQ(columns.highs(1), 9);
  EXPECT_TRUE(std::isnan(columns.lows(2)));
  EXPECT_TRUE(std::isnan(columns.highs(2)));
  EXPECT_TRUE(columns.synthetic());
}

TEST(SeriesColumns, ListsArePrintedAsSingleNumbersAre) {
  api::SeriesColumns columns;
  for (const float value : {4e10F, 39'123'456'000.F, 0.97F, -0.5F, 0.F, 1e30F, std::nanf("")})
    columns.add_headlines(value);
  for (const double value : {0.0, 1e12, 0.1}) columns.add_steps_ms(value);
  for (const std::uint32_t value : {0U, 4'294'967'295U}) columns.add_points_of_run(value);
  const std::string text = to_json(columns, JsonLayout::kCompact);
  EXPECT_THAT(text, HasSubstr(R"("headlines":[40000000000,39123456000,0.97,-0.5,0,1e+30,null])"));
  EXPECT_THAT(text, HasSubstr(R"("steps_ms":[0,1000000000000,0.1])"));
  EXPECT_THAT(text, HasSubstr(R"("points_of_run":[0,4294967295],"epochs":[],)"));
}

TEST(SeriesColumns, ASeriesWithoutPointsHasEmptyLists) {
  const api::SeriesColumns columns = columns_of({});
  EXPECT_THAT(columns.steps_ms(), IsEmpty());
  EXPECT_THAT(columns.run_ids(), IsEmpty());
  EXPECT_EQ(columns.schema_version(), 1U);
}

}  // namespace
}  // namespace railgauge::console

#include "controller/mirror/month_index.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

using ::testing::HasSubstr;

constexpr double kNovember = 1.7e9;          // 2023-11-14, when the points of tests are measured
constexpr double kDecember = 1'701'500'000;  // 2023-12-02
constexpr double kLater = 1'702'000'000;     // 2023-12-08
constexpr const char* kMonth = "point_y2023m11";

class MonthIndexTest : public MirrorTest {
 protected:
  std::unique_ptr<pq::Connection> connect() {
    auto opened = pq::Connection::open({.url = url_});
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }
  // The month that got an index, or the error.
  std::string index_one(double now) {
    const auto made = index_a_month(*connect(), now);
    return made ? *made : made.error().message;
  }
  std::string valid() {
    return ask(
        fmt::format("SELECT indisvalid FROM pg_index WHERE "
                    "indexrelid=to_regclass('railgauge.{}_history')",
                    kMonth));
  }
};

TEST_F(MonthIndexTest, IsMadeOnceTheMonthIsOver) {
  EXPECT_EQ(index_one(kLater), "") << "there is no archive yet";
  measure("r1", 3);
  expect_same();
  EXPECT_EQ(index_one(kNovember), "");
  EXPECT_EQ(index_one(kDecember), "") << "spools may still have points of it";
  EXPECT_EQ(index_one(kLater), kMonth);
  EXPECT_EQ(valid(), "t");
  EXPECT_EQ(index_one(kLater), "") << "it has one";
  // Points that come later are written as ever.
  measure("r2", 3);
  expect_same();
}

TEST_F(MonthIndexTest, IsMadeByOneControllerAtATimeAndAnewAfterACrash) {
  measure("r1", 3);
  expect_same();
  {
    const auto other = connect();
    ASSERT_TRUE(other->execute("SELECT pg_advisory_lock(5927846)"));
    EXPECT_EQ(index_one(kLater), "");
  }
  EXPECT_EQ(index_one(kLater), kMonth);
  ASSERT_TRUE(connect()->execute(fmt::format(
      "UPDATE pg_index SET indisvalid=false WHERE indexrelid='railgauge.{}_history'::regclass",
      kMonth)));
  EXPECT_EQ(index_one(kLater), kMonth);
  EXPECT_EQ(valid(), "t");
}

// Each series has a point in each stretch of the table, as nights leave them.
TEST_F(MonthIndexTest, AnswersAHistoryWithoutTheTable) {
  measure("r1", 1);
  expect_same();
  ASSERT_TRUE(connect()->execute(
      "INSERT INTO railgauge.point (site, id, series, measured_at, median, p99, sample_count, "
      "flags) SELECT 1, (1000 + s) << 20, 1 + s % 50, timestamptz '2023-11-02 00:00+00' + interval "
      "'10 seconds' * s, 1500, 1900, 1000, 5 FROM generate_series(1, 50000) AS s"));
  ASSERT_EQ(index_one(kLater), kMonth);
  const std::string wanted = fmt::format("Index Only Scan.* using {}_history", kMonth);
  const auto database = connect();
  // The views' rows, as the board, people and `railgauge history` ask for them.
  for (const char* sql :
       {"SELECT measured_at, headline FROM railgauge.points WHERE site='east' AND series_id=1 "
        "ORDER "
        "BY measured_at",
        "SELECT measured_at, headline, median, median_low, median_high, p99, rate_low, rate_high, "
        "slot_p10, pause_share, sample_count, unit, converged, verified, throttled, synthetic, "
        "rank_id FROM railgauge.points WHERE site='east' AND series_id=1 ORDER BY measured_at DESC "
        "LIMIT 1001"}) {
    const auto plan = database->query(std::string("EXPLAIN (ANALYZE) ") + sql);
    ASSERT_TRUE(plan) << plan.error().message;
    std::string text;
    for (int row = 0; row < plan->rows(); ++row) text += fmt::format("{}\n", plan->text(row, 0));
    EXPECT_THAT(text, ::testing::ContainsRegex(wanted));
    EXPECT_THAT(text, HasSubstr("Heap Fetches: 0"));
  }
}

}  // namespace
}  // namespace railgauge::mirror

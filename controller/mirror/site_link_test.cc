#include "controller/mirror/site_link.h"

#include <thread>

#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SiteLinkTest : public MirrorTest {};

TEST_F(SiteLinkTest, TwoSitesWriteToOneDatabase) {
  measure("r1", 3);
  auto other = open_armed(folder_.file("west"));
  Mirror west(options("west"), *other, note_, [] { return false; });
  store::plan_run(*other, "r1", 2);
  for (const char* task : {"t0001", "t0002"})
    store::append_passed(*other, {.run_id = "r1", .task_id = task});
  expect_same();
  ASSERT_TRUE(drain(west, *other));
  EXPECT_THAT(differences(*other, 2), IsEmpty());
  EXPECT_THAT(differences(*store_, 1), IsEmpty());
  EXPECT_EQ(ask("SELECT string_agg(site || ' ' || n, ', ' ORDER BY site) FROM (SELECT site, "
                "count(*) AS n FROM railgauge.points GROUP BY site) AS counted"),
            "east 3, west 2");
  EXPECT_EQ(ask("SELECT count(DISTINCT endpoints) FROM railgauge.all_series"), "1");
}

// The first one sends nothing more, however often it tries; started anew it is behind the copy.
TEST_F(SiteLinkTest, ACopyOfTheDatabaseShutsTheOriginalOut) {
  measure("r1", 1);
  expect_same();
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  auto copied = open_armed(folder_.file("copy"));
  Mirror second(options("east"), *copied, note_, [] { return false; });
  ASSERT_TRUE(drain(second, *copied));
  const std::string generation = ask("SELECT generation FROM railgauge.site");
  measure("r2", 1);
  for (int step = 0; step < 50; ++step) mirror_->step(1.8e9 + 100.0 * step);
  EXPECT_THAT(events_.back().second, HasSubstr("another controller writes to the archive"));
  EXPECT_EQ(ask("SELECT generation FROM railgauge.site"), generation);
  reopen_armed();
  for (int step = 0; step < 50; ++step) mirror_->step(1.8e9 + 100.0 * step);
  EXPECT_THAT(events_.back().second, HasSubstr("is a copy"));
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "1");
}

TEST_F(SiteLinkTest, AControllerThatIsShutOutClaimsNothingBack) {
  measure("r1", 1);
  expect_same();
  ask("UPDATE railgauge.site SET generation=generation + 1, start='of another'");
  measure("r2", 1);
  for (int step = 0; step < 50; ++step) mirror_->step(1.8e9 + 100.0 * step);
  EXPECT_THAT(events_.back().second, HasSubstr("another controller writes to the archive"));
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "1");
  EXPECT_EQ(ask("SELECT start FROM railgauge.site"), "of another");
}

TEST_F(SiteLinkTest, ADatabaseOfAnotherNameIsNoSiteOfThisOne) {
  measure("r1", 1);
  expect_same();
  auto other = open_armed(folder_.file("other"));
  Mirror stranger(options("east"), *other, note_, [] { return false; });
  stranger.step(1.7e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("give this controller another --site"));
}

// It is refused for good: what it measures later must not pass for rows that the archive has.
TEST_F(SiteLinkTest, ARestoredBackupStaysRefusedHoweverMuchItMeasures) {
  measure("r1", 1);
  expect_same();
  ASSERT_TRUE(store_->back_up(folder_.file("backup")));
  measure("r2", 2);
  expect_same();
  const std::string before = ask("SELECT outbox_through FROM railgauge.site");
  mirror_.reset();
  store_.reset();
  store_ = open_armed(folder_.file("backup"));
  mirror_ = make();
  for (int run = 0; run < 10; ++run) {
    measure(fmt::format("later{}", run), 3);
    mirror_->step(1.7e9 + 100.0 * run);
  }
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("it was restored"));
  EXPECT_EQ(ask("SELECT outbox_through FROM railgauge.site"), before);
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "3");
  // Under another name it is a site of its own.
  mirror_ = make("east-b");
  ASSERT_TRUE(drain(*mirror_, *store_, 1.8e9));
  EXPECT_EQ(differences(*store_, 2), "");
}

// Rows of a first copy are sent before the changes that made them: the backup lacks them, although
// the mark is within it.
TEST_F(SiteLinkTest, ABackupOfTheTimeOfTheFirstCopyIsRefusedToo) {
  measure("r1", 1);
  MirrorOptions small = options("east");
  small.batch.entries = 2;
  mirror_ = std::make_unique<Mirror>(small, *store_, note_, [] { return false; });
  for (int step = 0; step < 4; ++step) mirror_->step(1.7e9);
  ASSERT_GT(mirror_->figures().tables_left, 0) << "the first copy is under way";
  ASSERT_TRUE(store_->back_up(folder_.file("backup")));
  measure("r2", 1);
  const std::string runs = "SELECT count(*) FROM railgauge.run WHERE run_id='r2'";
  for (int step = 0; step < 500 && ask(runs) == "0"; ++step) mirror_->step(1.7e9);
  ASSERT_EQ(ask(runs), "1");
  mirror_.reset();
  store_.reset();
  // As though the copy had come by alone: the changes are far behind it.
  ask("UPDATE railgauge.site SET outbox_through=1");
  store_ = open_armed(folder_.file("backup"));
  mirror_ = make();
  mirror_->step(1.8e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("it was restored"));
}

// Two sites begin a month at once; the next one is made before anybody needs it.
TEST_F(SiteLinkTest, TheNextMonthsTableIsMadeAhead) {
  measure("r1", 1);
  expect_same();
  // 1.7e9 is within November 2023.
  EXPECT_EQ(ask("SELECT to_regclass('railgauge.point_y2023m12') IS NOT NULL"), "t");
  auto other = open_armed(folder_.file("west"));
  std::thread east([this] { mirror_->step(1.7e9 + 40 * 86'400); });
  Mirror west(
      options("west"), *other, [](auto, auto) {}, [] { return false; });
  west.step(1.7e9 + 40 * 86'400);
  east.join();
  EXPECT_EQ(ask("SELECT to_regclass('railgauge.point_y2024m01') IS NOT NULL"), "t");
  EXPECT_TRUE(events_.empty());
}

// A point of a clock that was months ahead waits among the others; once its month is near, the
// month gets a table with it, for all sites.
TEST_F(SiteLinkTest, AMonthOfWhichAPointCameTooEarlyGetsItsTable) {
  measure("r1", 2);
  expect_same();
  ask("INSERT INTO railgauge.point (id, measured_at, series, site, median) SELECT id + 1000, "
      "'2024-05-07 08:00+00', series, site, 7 FROM railgauge.point LIMIT 1");
  ask("INSERT INTO railgauge.point (id, measured_at, series, site) SELECT id + 2000, "
      "'2031-01-01 00:00+00', series, site FROM railgauge.point WHERE median<>7 LIMIT 1");
  ASSERT_EQ(ask("SELECT count(*) FROM railgauge.point_other"), "2");
  const double may = 1.7e9 + 172 * 86'400.0;  // 4 May 2024
  measure("r2", 1);
  ASSERT_TRUE(drain(*mirror_, *store_, may));
  EXPECT_EQ(ask("SELECT tableoid::regclass || ' ' || median FROM railgauge.point WHERE median=7"),
            "point_y2024m05 7");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point_other"), "1") << "the far one";
  EXPECT_EQ(ask("SELECT count(*) FROM pg_inherits WHERE inhparent='railgauge.point'::regclass AND "
                "inhrelid='railgauge.point_y2024m05'::regclass"),
            "1");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_indexes WHERE schemaname='railgauge' AND "
                "tablename='point_y2024m05'"),
            ask("SELECT count(*) FROM pg_indexes WHERE schemaname='railgauge' AND "
                "tablename='point_y2023m11'"));
  EXPECT_TRUE(events_.empty());
}

// A reader holds the table of the others: points go there meanwhile, and the next hour tries again.
TEST_F(SiteLinkTest, AMonthThatCannotBeMadeNowIsMadeLater) {
  measure("r1", 1);
  expect_same();
  ask("INSERT INTO railgauge.point (id, measured_at, series, site) SELECT id + 1000, "
      "'2024-05-07 08:00+00', series, site FROM railgauge.point LIMIT 1");
  double now = 1.7e9 + 172 * 86'400.0;
  {
    auto reader = pq::Connection::open({.url = url_});
    ASSERT_TRUE(reader && (*reader)->script("BEGIN; SELECT count(*) FROM railgauge.point_other"));
    measure("r2", 1);
    ASSERT_TRUE(drain(*mirror_, *store_, now));
    EXPECT_EQ(ask("SELECT to_regclass('railgauge.point_y2024m05') IS NULL"), "t");
  }
  mirror_->step(now + 4'000);
  EXPECT_EQ(ask("SELECT tableoid::regclass::text FROM railgauge.point WHERE id > 1000 AND "
                "measured_at > '2024-05-01'"),
            "point_y2024m05");
  EXPECT_TRUE(events_.empty());
}

// They are no month that could be dropped.
TEST_F(SiteLinkTest, OldPointsOfTheOthersAreDeletedByTheirTime) {
  MirrorOptions brief = options("east");
  brief.keep_days = 60;
  mirror_ = std::make_unique<Mirror>(brief, *store_, note_, [] { return false; });
  measure("r1", 1);
  expect_same();
  for (const char* at : {"1970-01-01 00:00+00", "2031-01-01 00:00+00"})
    ask(
        fmt::format("INSERT INTO railgauge.point (id, measured_at, series, site) SELECT id + 1000, "
                    "'{}', series, site FROM railgauge.point LIMIT 1",
                    at));
  ASSERT_EQ(ask("SELECT count(*) FROM railgauge.point_other"), "2");
  mirror_->step(1.7e9 + 4'000);
  EXPECT_EQ(ask("SELECT string_agg(measured_at::date::text, ' ') FROM railgauge.point_other"),
            "2031-01-01");
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "2");
}

TEST_F(SiteLinkTest, AnArchiveThatWentBackInTimeGetsWhatItLacks) {
  measure("r1", 1);
  expect_same();
  const std::string mark = ask("SELECT outbox_through FROM railgauge.site");
  measure("r2", 3);
  expect_same();
  // Restored to its state of before, while the outbox was trimmed.
  ask("DELETE FROM railgauge.point WHERE id >> 20 > 2");
  ask("DELETE FROM railgauge.run WHERE run_id='r2'");
  ask("UPDATE railgauge.site SET generation=1, outbox_through=" + mark);
  mirror_ = make();
  expect_same();
}

TEST_F(SiteLinkTest, OneDatabaseIsOneSite) {
  measure("r1", 1);
  expect_same();
  mirror_ = make("eats");
  mirror_->step(1.7e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("this database writes to the archive as site east"));
}

TEST_F(SiteLinkTest, ARestartContinuesWhereTheLastStartEnded) {
  for (int start = 0; start < 5; ++start) {
    measure(fmt::format("r{}", start), 2);
    expect_same();
    measure(fmt::format("unsent{}", start), 1);
    reopen_armed();
  }
  expect_same();
  EXPECT_TRUE(events_.empty());
}

}  // namespace
}  // namespace railgauge::mirror

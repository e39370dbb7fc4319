#include "controller/mirror/site_link.h"

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

TEST_F(SiteLinkTest, ASecondControllerOfASiteShutsTheFirstOut) {
  measure("r1", 1);
  expect_same();
  auto later = make();
  ASSERT_TRUE(drain(*later, *store_));
  measure("r2", 1);
  mirror_->step(1.8e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("another controller writes to the archive"));
  ASSERT_TRUE(drain(*later, *store_, 1.8e9));
  EXPECT_THAT(differences(*store_), IsEmpty());
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

TEST_F(SiteLinkTest, ARestoredBackupIsToldFromTheArchiveThatIsAhead) {
  measure("r1", 1);
  expect_same();
  ASSERT_TRUE(store_->back_up(folder_.file("backup")));
  measure("r2", 2);
  expect_same();
  auto restored = open_armed(folder_.file("backup"));
  Mirror again(options("east"), *restored, note_, [] { return false; });
  again.step(1.7e9);
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("a backup was restored"));
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.point"), "3");
}

}  // namespace
}  // namespace railgauge::mirror

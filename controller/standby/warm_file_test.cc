// Copies of a site against a private PostgreSQL cluster.
#include "controller/standby/warm_file.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "controller/mirror/archive_schema.h"
#include "controller/mirror/lease.h"
#include "controller/mirror/testing/archive_testing.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/upkeep/maintenance.h"

namespace railgauge::standby {
namespace {

using mirror::Mirror;
using testing::HasSubstr;

class WarmFileTest : public mirror::ArchiveTest {
 protected:
  void SetUp() override {
    ArchiveTest::SetUp();
    if (IsSkipped()) return;
    auto opened = pq::Connection::open({.url = url_});
    ASSERT_TRUE(opened);
    archive_ = std::move(*opened);
    ASSERT_TRUE(mirror::ensure_schema(*archive_));
    take_lease("aa", 1);
    store_ = open_armed(folder_.file("db"));
    mirror_ = make(*store_, 1);
  }
  void take_lease(const std::string& holder, std::int64_t wanted) {
    ASSERT_TRUE(
        archive_->execute("UPDATE railgauge.lease SET expires_at=now() - interval '1 s', "
                          "admitted=ARRAY['" +
                          holder + "']"));
    const auto taken = mirror::take_lease(
        *archive_, {.site = "east", .controller = {.holder = holder}, .seconds = 600});
    ASSERT_TRUE(taken && *taken);
    EXPECT_EQ((*taken)->generation, wanted);
  }
  std::unique_ptr<Mirror> make(store::Store& store, std::int64_t lease) {
    auto wanted = options("east");
    wanted.lease = lease;
    return std::make_unique<Mirror>(wanted, store, note_, [] { return false; });
  }
  static void measure(store::Store& store, const std::string& run_id, int tasks) {
    store::plan_run(store, run_id, tasks);
    for (int task = 1; task <= tasks; ++task)
      store::append_passed(store, {.run_id = run_id, .task_id = fmt::format("t{:04}", task)});
  }
  // The time of the points, as controllers and nodes have it.
  static void date(store::Store& store) {
    ASSERT_TRUE(store.write(+[](store::Connection& connection) {
      return connection.execute("UPDATE run SET created_at=1.7e9 - 10, ended_at=1.7e9");
    }));
  }
  // Figures of days once the successor's own retention has passed, with its mirror.
  std::vector<std::string> days_after_pruning(const std::string& name) {
    const auto successor = open_armed(folder_.file(name));
    const auto next = make(*successor, 2);
    EXPECT_TRUE(drain(*next, *successor));
    EXPECT_TRUE(successor->prune({.point_days = 1}, 4e9));
    EXPECT_TRUE(drain(*next, *successor));
    return rows_here(*successor, store::mirror_table_number("series_day"));
  }
  Followed follow(WarmFile& file) {
    const auto followed = file.follow(*archive_, "east", [] { return false; });
    EXPECT_TRUE(followed) << followed.error().message;
    return followed ? *followed : Followed();
  }
  Kinship kinship(WarmFile& file) {
    const auto site = mirror::read_archived_site(*archive_, "east");
    EXPECT_TRUE(site);
    return *file.kinship(*site);
  }
  WarmFile open(const std::string& name) {
    auto file = WarmFile::open(folder_.file(name));
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }
  // Rows of a mirrored table that the two stores do not share.
  static std::string differences_of(const store::Store& one, const store::Store& other) {
    std::string text;
    for (std::size_t table = 0; table < store::mirror_tables().size(); ++table) {
      const auto here = rows_here(one, table);
      const auto there = rows_here(other, table);
      if (here != there)
        text += fmt::format("{}: {} rows and {}\n", store::mirror_tables()[table].name, here.size(),
                            there.size());
    }
    return text;
  }

  // Means and tails of all points of two runs, as a verdict reads them.
  static std::string tails_of(const store::Store& store) {
    std::string text;
    const std::vector<std::string> runs{"r1", "r2"};
    const auto rows = store.read(store::read_side_points, runs, std::vector<std::string>());
    EXPECT_TRUE(rows) << rows.error().message;
    for (const auto& row : *rows)
      text += fmt::format("{} {} {} {}; ", row.mean, row.p90.value_or(0), row.p999.value_or(0),
                          row.slot_p1.value_or(0));
    return text;
  }

  std::unique_ptr<pq::Connection> archive_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(WarmFileTest, FollowsTheSiteAndContinuesItAsItsDatabase) {
  WarmFile file = open("copy");
  EXPECT_FALSE(follow(file).is_whole) << "nobody has written yet";
  measure(*store_, "r1", 3);
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_EQ(kinship(file), Kinship::kCopy);
  EXPECT_TRUE(follow(file).is_whole);
  measure(*store_, "r2", 5);
  ASSERT_TRUE(store_->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
  ASSERT_TRUE(drain(*mirror_, *store_));
  const Followed more = follow(file);
  EXPECT_TRUE(more.is_whole);
  EXPECT_GT(more.rows, 10);
  EXPECT_EQ(follow(file).rows, 0);
  take_lease("bb", 2);
  ASSERT_TRUE(file.take_over(*archive_, "east", 2));
  file.close();
  {
    auto successor = open_armed(folder_.file("copy"));
    EXPECT_EQ(differences_of(*store_, *successor), "");
    EXPECT_EQ(tails_of(*store_), tails_of(*successor)) << "verdicts read them";
    EXPECT_NE(tails_of(*store_), "");
    // Its rows continue behind the last one; nothing is sent anew.
    auto next = make(*successor, 2);
    measure(*successor, "r3", 2);
    ASSERT_TRUE(drain(*next, *successor));
    EXPECT_LT(next->figures().rows_sent, 100);
    EXPECT_EQ(differences(*successor), "");
    EXPECT_EQ(ask("SELECT copy_epoch FROM railgauge.site"), "1");
  }
  // The old one writes nothing more, and finds that it was deposed.
  measure(*store_, "r9", 1);
  for (int step = 0; step < 50; ++step) mirror_->step(1.8e9 + step * 40);
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run WHERE run_id='r9'"), "0");
  mirror_.reset();
  store_.reset();
  WarmFile old = open("db");
  EXPECT_EQ(kinship(old), Kinship::kDeposed);
  ASSERT_TRUE(old.set_aside());
  EXPECT_TRUE(std::filesystem::exists(folder_.file("db.deposed-0")));
  EXPECT_TRUE(follow(old).is_whole);
  old.close();
  auto again = store::open_store(folder_.file("db"));
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run"), "3");
  EXPECT_EQ(again->list_runs(10)->size(), 3u);
}

// An earlier one may have what exists nowhere else.
TEST_F(WarmFileTest, ADatabaseThatIsSetAsideReplacesNoEarlierOne) {
  WarmFile file = open("copy");
  ASSERT_TRUE(file.take_over(*archive_, "east", 4));
  ASSERT_TRUE(file.set_aside());
  ASSERT_TRUE(file.set_aside()) << "of the same generation";
  ASSERT_TRUE(file.take_over(*archive_, "east", 6));
  ASSERT_TRUE(file.set_aside());
  for (const char* name : {"copy.deposed-4", "copy.deposed-4-1", "copy.deposed-6"})
    EXPECT_GT(std::filesystem::file_size(folder_.file(name)), 0u) << name;
}

// PostgreSQL refuses the transaction at its end, whatever the controller believes.
TEST_F(WarmFileTest, AnOldGenerationWritesNothing) {
  measure(*store_, "r1", 1);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(archive_->execute("UPDATE railgauge.lease SET generation=7"));
  measure(*store_, "r2", 1);
  for (int step = 0; step < 10; ++step) mirror_->step(1.9e9 + step * 40);
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run WHERE run_id='r2'"), "0");
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_.back().second, HasSubstr("generation 1 has lost the lease of site east"));
}

TEST_F(WarmFileTest, ItsOwnDatabaseNeedsNoCopyAndAStrangersGetsNone) {
  measure(*store_, "r1", 1);
  ASSERT_TRUE(drain(*mirror_, *store_));
  mirror_.reset();
  store_.reset();
  {
    WarmFile own = open("db");
    EXPECT_EQ(kinship(own), Kinship::kOwn);
    ASSERT_TRUE(own.take_over(*archive_, "east", 4));
    EXPECT_EQ(*own.generation(), 4);
  }
  auto stranger = open_armed(folder_.file("other"));
  measure(*stranger, "r1", 1);
  stranger.reset();
  WarmFile file = open("other");
  EXPECT_EQ(kinship(file), Kinship::kStranger);
}

TEST_F(WarmFileTest, ACopyBeginsAnewWhereChangesWentUnnotedOrAreGone) {
  measure(*store_, "r1", 2);
  ASSERT_TRUE(drain(*mirror_, *store_));
  WarmFile file = open("copy");
  EXPECT_TRUE(follow(file).is_whole);
  ASSERT_TRUE(archive_->execute("UPDATE railgauge.site SET copy_epoch=9"));
  EXPECT_TRUE(follow(file).is_whole);
  measure(*store_, "r2", 2);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(archive_->execute(
      "UPDATE railgauge.site SET changes_from=(SELECT max(position) FROM railgauge.change)"));
  ASSERT_TRUE(archive_->execute("DELETE FROM railgauge.change"));
  EXPECT_TRUE(follow(file).is_whole);
  file.close();
  const auto copy = store::open_store(folder_.file("copy"));
  EXPECT_EQ(copy->list_runs(10)->size(), 2u);
}

// Points that retention took are in the days' figures, which the copy has too: a successor that had
// the points as well would add them once more.
TEST_F(WarmFileTest, WhatRetentionTookIsInNoCopyAndIsNotCountedTwice) {
  const auto end = [this](const std::string& run_id) {
    ASSERT_TRUE(store_->update_run({.run_id = run_id,
                                    .state = store::RunState::kEnded,
                                    .outcome = "passed",
                                    .ended_at = 1.7e9}));
  };
  measure(*store_, "r1", 3);
  measure(*store_, "r2", 2);
  end("r1");
  end("r2");
  date(*store_);
  ASSERT_TRUE(drain(*mirror_, *store_));
  WarmFile follower = open("follower");
  EXPECT_TRUE(follow(follower).is_whole);
  measure(*store_, "r3", 2);  // its tasks hold the highest ids
  date(*store_);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(store_->prune({.point_days = 1}, 4e9));
  ASSERT_TRUE(drain(*mirror_, *store_));
  EXPECT_EQ(ask("SELECT sum(point_count) FROM railgauge.series_day"), "5");
  EXPECT_TRUE(follow(follower).is_whole);
  WarmFile late = open("late");
  EXPECT_TRUE(follow(late).is_whole);
  take_lease("bb", 2);
  ASSERT_TRUE(late.take_over(*archive_, "east", 2));
  ASSERT_TRUE(follower.take_over(*archive_, "east", 2));
  late.close();
  follower.close();
  for (const char* name : {"late", "follower"}) {
    const auto successor = open_armed(folder_.file(name));
    EXPECT_EQ(differences_of(*store_, *successor), "") << name;
    EXPECT_EQ(rows_here(*successor, store::mirror_table_number("point")).size(), 2u) << name;
  }
  EXPECT_EQ(days_after_pruning("late"),
            rows_here(*store_, store::mirror_table_number("series_day")));
}

// As a stop in the middle of a pruning leaves it: one run is done, the next one by half. Both have
// figures of one series and day.
TEST_F(WarmFileTest, ARunThatIsPrunedByHalfIsCountedOnceByTheSuccessor) {
  measure(*store_, "r1", 2);
  measure(*store_, "r2", 3);
  for (const char* run_id : {"r1", "r2"})
    ASSERT_TRUE(store_->update_run({.run_id = run_id,
                                    .state = store::RunState::kEnded,
                                    .outcome = "passed",
                                    .ended_at = 1.7e9}));
  measure(*store_, "r3", 1);
  date(*store_);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(store_->write(+[](store::Connection& connection) -> Status {
    const auto first = RG_TRY(store::ranks_of_run(connection, 1));
    RG_TRY_OK(store::prune_ranks(connection, store::PruneLevel::kPoints, 1, first));
    RG_TRY_OK(store::mark_pruned(connection, store::PruneLevel::kPoints, 1));
    const auto ranks = RG_TRY(store::ranks_of_run(connection, 2));
    const auto half = std::span(ranks).first(ranks.size() / 2);
    RG_TRY_OK(store::prune_ranks(connection, store::PruneLevel::kPoints, 2, half));
    return {};
  }));
  ASSERT_TRUE(drain(*mirror_, *store_));
  WarmFile copy = open("copy");
  EXPECT_TRUE(follow(copy).is_whole);
  take_lease("bb", 2);
  ASSERT_TRUE(copy.take_over(*archive_, "east", 2));
  copy.close();
  const auto days = days_after_pruning("copy");
  EXPECT_FALSE(days.empty());
  ASSERT_TRUE(store_->prune({.point_days = 1}, 4e9));
  EXPECT_EQ(days, rows_here(*store_, store::mirror_table_number("series_day")));
  EXPECT_EQ(ask("SELECT sum(point_count) FROM railgauge.series_day"), "5");
}

// The marks of spools never claim what the archive lacks.
TEST_F(WarmFileTest, MarksOfSpoolsComeWithTheTakeover) {
  store::plan_run(*store_, "r1", 1);
  std::vector<Record> records{store::started_record({})};
  ASSERT_TRUE(store_->append_records("id-1", records, {}, store::SpoolRange{1, 7}));
  ASSERT_TRUE(store_->flush());
  ASSERT_TRUE(drain(*mirror_, *store_));
  WarmFile file = open("copy");
  EXPECT_TRUE(follow(file).is_whole);
  ASSERT_TRUE(file.take_over(*archive_, "east", 2));
  file.close();
  const auto copy = store::open_store(folder_.file("copy"));
  const auto bonds = copy->node_bonds();
  ASSERT_TRUE(bonds);
  std::int64_t through = 0;
  for (const auto& bond : *bonds)
    if (bond.node_id == "id-1") through = bond.spool_through.value_or(0);
  EXPECT_EQ(through, 7);
}

}  // namespace
}  // namespace railgauge::standby

// Checking, retention, the bounds of disk and log.
#include "controller/store/upkeep/maintenance.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Maintenance : public StoreTest {
 protected:
  std::int64_t count(std::string_view sql) {
    auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
    EXPECT_TRUE(connection);
    const auto value = connection->integer(sql);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }
  // A run that was created `days` before the day of the test, with one point.
  void old_run(const std::string& run_id, double days) {
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
    RunRow run = run_row(run_id);
    run.created_at = kNow - days * kDaySeconds;
    ASSERT_TRUE(store_->create_run(run, pair_tasks(1)));
    const At at{.run_id = run_id};
    Record point = point_record(at, 1);
    point.set_unix_time_seconds(run.created_at);
    point.mutable_point()->add_samples(1500);
    ASSERT_TRUE(
        append(*store_, "id-1", {started_record(at), point, final_record(at, 2, "passed")}));
    const At other{.run_id = run_id, .rank = 1};
    ASSERT_TRUE(append(*store_, "id-2", {started_record(other), final_record(other, 1, "passed")}));
    ASSERT_TRUE(
        store_->update_run({.run_id = run_id, .state = RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
  }
  static constexpr double kNow = 1.9e9;
};

TEST_F(Maintenance, ASoundDatabaseHasNoProblems) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto problems = store_->check();
  ASSERT_TRUE(problems) << problems.error().message;
  EXPECT_THAT(*problems, IsEmpty());
}

TEST_F(Maintenance, SpaceNamesEveryTableAndAddsUpToTheFile) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto space = store_->space();
  ASSERT_TRUE(space) << space.error().message;
  double bytes = space->free_bytes;
  bool points = false;
  for (const SpacePart& part : space->parts) {
    bytes += part.bytes;
    points = points || (part.name == "point_by_series" && part.table == "point");
  }
  EXPECT_TRUE(points);
  EXPECT_EQ(space->points, 1);
  // One page in some hundred holds the map of pages that incremental vacuum needs.
  EXPECT_GE(bytes, 0.9 * space->page_bytes * 40);
  reopen();  // the log is in the file then
  const auto whole = store_->space();
  ASSERT_TRUE(whole);
  double named = whole->free_bytes;
  for (const SpacePart& part : whole->parts) named += part.bytes;
  const auto on_disk = static_cast<double>(std::filesystem::file_size(folder_.file("db")));
  EXPECT_EQ(whole->file_bytes, on_disk);
  const double maps = std::ceil(on_disk / whole->page_bytes / 800) * whole->page_bytes;
  EXPECT_LE(named, on_disk);
  EXPECT_GE(named, on_disk - maps) << "but for the maps of pages every byte has a name";
}

TEST_F(Maintenance, EachKindIsKeptAsLongAsThePolicySays) {
  old_run("decade", 4'000);
  old_run("year", 500);
  old_run("month", 30);
  old_run("week", 3);
  ASSERT_TRUE(store_->write(write_part_levels, "month", {{.kernel = "k"}}));
  ASSERT_TRUE(store_->write(write_part_levels, "year", {{.kernel = "k"}}));
  const auto counts = store_->prune({}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(count("SELECT count(*) FROM part_levels"), 1) << "they go with distributions";
  EXPECT_EQ(count("SELECT count(*) FROM raw_sample"), 1) << "of the last week";
  EXPECT_EQ(count("SELECT count(*) FROM distribution"), 2) << "of the last 13 months";
  EXPECT_EQ(count("SELECT count(*) FROM point"), 3) << "of the last 5 years";
  EXPECT_EQ(count("SELECT count(*) FROM run"), 4) << "runs are remembered";
  EXPECT_EQ(count("SELECT point_count FROM series_day"), 1) << "the day's figure stays";
  EXPECT_EQ(count("SELECT median=1500 FROM series_day"), 1);
  const auto history = store_->history(1, {}, 10);
  ASSERT_TRUE(history) << history.error().message;
  EXPECT_EQ(history->points.size(), 3u);
  ASSERT_EQ(history->days.size(), 1u) << "a history begins with what the pruned points came to";
  EXPECT_EQ(history->days[0].mean, 1500);
  EXPECT_EQ(history->days[0].point_count, 1);
  EXPECT_EQ(std::fmod(history->days[0].day_at, 86'400), 0);
  EXPECT_EQ(store_->history(1, {}, 3)->days.size(), 0u) << "the limit counts both";
  EXPECT_EQ(store_->history(1, 1.8e9, 10)->days.size(), 0u);
  EXPECT_EQ(counts->raw_samples, 3);
  EXPECT_EQ(counts->points, 1);
  EXPECT_THAT(*store_->check(), IsEmpty());
  const auto again = store_->prune({}, kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points + again->distributions + again->raw_samples, 0);
}

// While a mirror is on, points stay until the archive has had everything since their run.
TEST_F(Maintenance, PointsThatTheArchiveLacksStay) {
  ASSERT_TRUE(store_->write(arm_mirror));
  old_run("old", 4'000);
  const auto prune = [this] {
    const auto counts = store_->prune({}, kNow);
    EXPECT_TRUE(counts) << counts.error().message;
    return counts ? counts->points : -1;
  };
  EXPECT_EQ(prune(), 0) << "the first copy has not ended";
  const std::int64_t rows = count("SELECT max(id) FROM mirror_outbox");
  ASSERT_TRUE(store_->write(trim_mirror, 0, rows, kNow));
  EXPECT_EQ(prune(), 0) << "its points wait";
  ASSERT_TRUE(store_->write(trim_mirror, rows, rows, kNow - 4'001 * kDaySeconds));
  EXPECT_EQ(prune(), 0) << "the archive has had nothing since";
  ASSERT_TRUE(store_->write(trim_mirror, rows, rows, kNow));
  EXPECT_EQ(prune(), 1);
  old_run("older", 4'100);
  ASSERT_TRUE(store_->write(disarm_mirror));
  EXPECT_EQ(prune(), 1) << "without a mirror nothing waits for one";
}

TEST_F(Maintenance, PruningGivesPagesBack) {
  for (int i = 0; i < 30; ++i) old_run(fmt::format("r{}", i), 4'000);
  const auto counts = store_->prune({}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_GT(counts->freed_bytes, 4'096);
  EXPECT_EQ(count("PRAGMA freelist_count"), 0);
}

TEST_F(Maintenance, AClockFarAheadTakesNothingByItself) {
  for (int i = 0; i < 4; ++i) old_run(fmt::format("r{}", i), i);
  const double in_ten_years = kNow + 3'650 * kDaySeconds;
  const auto refused = store_->prune({.largest_share = 0.5}, in_ten_years);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message, HasSubstr("4 of 4 runs"));
  EXPECT_EQ(count("SELECT count(*) FROM point"), 4);
  const auto asked_for = store_->prune({}, in_ten_years);
  ASSERT_TRUE(asked_for) << asked_for.error().message;
  EXPECT_EQ(asked_for->points, 4);
}

TEST_F(Maintenance, AHalfThatIsTooOldIsTaken) {
  old_run("old", 500);
  old_run("new", 1);
  const auto counts = store_->prune({.largest_share = 0.5}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->distributions, 1);
}

TEST_F(Maintenance, NewRunsAreRefusedOnAFillingDiskWhileRecordsAreStillTaken) {
  plan_run(*store_, "r1", 1);
  store_.reset();
  store_ = open_store(folder_.file("db"), {.min_free_bytes = 1e18});
  const Status refused = store_->create_run(run_row("r2"), pair_tasks(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("railgauge db prune"));
  append_passed(*store_, {});
  EXPECT_EQ(all().size(), 1u);
}

TEST_F(Maintenance, TheLogIsBoundedEvenWithAReaderInIt) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({})}));
  store_.reset();
  constexpr double kMaxWalBytes = 1 << 20;
  store_ = open_store(
      folder_.file("db"),
      {.max_queued_records = 100, .busy_timeout_seconds = 0.01, .max_wal_bytes = kMaxWalBytes});
  auto reader = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->script("BEGIN; SELECT count(*) FROM point"));
  std::uint32_t accepted = 0;
  for (std::uint32_t i = 1; i < 20'000 && accepted == i - 1; ++i)
    for (int look = 0; look < 20 && accepted < i; ++look) {
      if (store_->append_records("id-1", {point_record({}, i)}, {})) accepted = i;
      if (accepted < i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  EXPECT_LT(accepted, 19'000u) << "back-pressure";
  EXPECT_LT(std::filesystem::file_size(folder_.file("db-wal")), 3 * kMaxWalBytes);
  ASSERT_TRUE(reader->script("COMMIT"));
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(count("SELECT count(*) FROM point"), accepted) << "nothing accepted is lost";
}

TEST_F(Maintenance, AReaderInALargeLogDoesNotHoldTheWriterUp) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({})}));
  store_.reset();
  // Whoever waited for the reader would wait longer than this test may take.
  store_ =
      open_store(folder_.file("db"), {.busy_timeout_seconds = 900, .large_wal_bytes = 1 << 20});
  auto reader = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->script("BEGIN; SELECT count(*) FROM point"));
  constexpr std::uint32_t kPoints = 4'000;
  for (std::uint32_t i = 1; i <= kPoints; ++i)
    ASSERT_TRUE(store_->append_records("id-1", {point_record({}, i)}, {}));
  ASSERT_TRUE(store_->flush());
  EXPECT_GT(std::filesystem::file_size(folder_.file("db-wal")), 1U << 20U);
  ASSERT_TRUE(reader->script("COMMIT"));
  std::uint32_t more = 0;  // until the log has grown enough to be tried again
  while (more < 1'000 && std::filesystem::file_size(folder_.file("db-wal")) >= 1U << 20U)
    ASSERT_TRUE(append(*store_, "id-1", {point_record({}, kPoints + ++more)}));
  EXPECT_LT(more, 1'000U) << "without a reader the log is begun anew";
  EXPECT_EQ(count("SELECT count(*) FROM point"), kPoints + more);
}

TEST_F(Maintenance, AQueryThatTakesTooLongIsEnded) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(connection);
  const Connection::TimeLimit limit(*connection, 0.02);
  const auto ended = connection->integer(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(ended.error().message, HasSubstr("took longer than allowed"));
}

}  // namespace
}  // namespace railgauge::store

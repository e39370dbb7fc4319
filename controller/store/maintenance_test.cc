// Backups, restoring, checking, retention.
#include "controller/store/maintenance.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/store_testing.h"

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
    ASSERT_TRUE(store_->update_run({.run_id = run_id, .state = "ended", .outcome = "passed"}));
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

TEST_F(Maintenance, ABackupIsWholeWhileTheStoreGoesOnWriting) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({})}));
  std::atomic<bool> stop = false;
  std::atomic<std::uint32_t> written = 0;
  std::thread writing([&] {
    for (std::uint32_t i = 1; !stop && i < 20'000; ++i)
      if (append(*store_, "id-1", {point_record({}, i)})) written = i;
  });
  while (written < 50) std::this_thread::yield();
  const std::uint32_t before = written;
  const Status copied = store_->back_up(folder_.file("copy"));
  stop = true;
  writing.join();
  ASSERT_TRUE(copied) << copied.error().message;
  auto copy = open_store(folder_.file("copy"));
  EXPECT_THAT(*copy->check(), IsEmpty());
  const auto rows = copy->results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows});
  ASSERT_TRUE(rows);
  EXPECT_GE(rows->size(), before) << "what was acknowledged before it began";
}

TEST_F(Maintenance, ABackupNeverOverwrites) {
  std::ofstream(folder_.file("copy")) << "precious";
  const Status refused = store_->back_up(folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
}

TEST_F(Maintenance, RestoringPutsTheBackupInPlaceAndKeepsWhatWasThere) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  store_.reset();
  std::ofstream(folder_.file("db"), std::ios::binary) << "damaged beyond all help";
  const auto kept = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(*kept, HasSubstr("db.replaced-"));
  EXPECT_TRUE(std::filesystem::exists(*kept));
  reopen();
  EXPECT_EQ(all().size(), 1u);
}

TEST_F(Maintenance, RestoringIsRefusedWhileTheDatabaseIsOpen) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  // A lock of this process would not show: another one holds it.
  const std::string path = folder_.file("db");
  store_.reset();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = Store::open({.path = path});
    const char word = store ? 'y' : 'n';
    if (::write(ends[1], &word, 1) != 1) ::_exit(1);
    ::pause();
  }
  char word = 0;
  ASSERT_EQ(::read(ends[0], &word, 1), 1);
  ASSERT_EQ(word, 'y');
  const auto refused = restore(folder_.file("copy"), path);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("stop railgauge-controller"));
}

TEST_F(Maintenance, ADamagedBackupIsNotRestored) {
  plan_run(*store_, "r1", 1);
  for (int i = 0; i < 20; ++i)
    append_passed(*store_, {.attempt = static_cast<std::uint32_t>(i + 1)});
  ASSERT_TRUE(store_->back_up(folder_.file("copy")));
  store_.reset();
  std::filesystem::resize_file(folder_.file("copy"),
                               std::filesystem::file_size(folder_.file("copy")) / 2);
  const auto refused = restore(folder_.file("copy"), folder_.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss) << refused.error().message;
  reopen();
  EXPECT_EQ(all().size(), 20u) << "the database stays as it was";
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
}

TEST_F(Maintenance, EachKindIsKeptAsLongAsThePolicySays) {
  old_run("week", 3);
  old_run("month", 30);
  old_run("year", 500);
  old_run("decade", 4'000);
  const auto counts = store_->prune({}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(count("SELECT count(*) FROM raw_sample"), 1) << "of the last week";
  EXPECT_EQ(count("SELECT count(*) FROM distribution"), 2) << "of the last 13 months";
  EXPECT_EQ(count("SELECT count(*) FROM point"), 3) << "of the last 5 years";
  EXPECT_EQ(count("SELECT count(*) FROM run"), 4) << "runs are remembered";
  EXPECT_EQ(count("SELECT point_count FROM series_day"), 1) << "the day's figure stays";
  EXPECT_EQ(count("SELECT median=1500 FROM series_day"), 1);
  EXPECT_EQ(counts->raw_samples, 3);
  EXPECT_EQ(counts->points, 1);
  EXPECT_THAT(*store_->check(), IsEmpty());
  const auto again = store_->prune({}, kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points + again->distributions + again->raw_samples, 0);
}

TEST_F(Maintenance, PruningGivesPagesBack) {
  for (int i = 0; i < 30; ++i) old_run(fmt::format("r{}", i), 4'000);
  const auto counts = store_->prune({}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_GT(counts->freed_bytes, 4'096);
  EXPECT_EQ(count("PRAGMA freelist_count"), 0);
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

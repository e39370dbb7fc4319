// Readers, copies and prunings of the whole file while others continue.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/live_backup.h"
#include "controller/store/store_impl.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/maintenance.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

constexpr const char* kEndless =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
constexpr double kNow = 1.9e9;

class UpkeepTest : public StoreTest {
 protected:
  std::int64_t count(std::string_view sql) {
    auto connection = Connection::open(folder_.file("db"), Connection::Mode::kReadOnly, 1);
    EXPECT_TRUE(connection);
    const auto value = connection->integer(sql);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }
  // A run that says it was created `days` before kNow; by the node's clock it ended `node_days`
  // before.
  void ended_run(const std::string& run_id, double days, double node_days) {
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
    RunRow run = run_row(run_id);
    run.created_at = kNow - days * kDaySeconds;
    ASSERT_TRUE(store_->create_run(run, pair_tasks(1)));
    const At at{.run_id = run_id};
    Record end = final_record(at, 2, "passed");
    end.set_unix_time_seconds(kNow - node_days * kDaySeconds);
    ASSERT_TRUE(append(*store_, "id-1", {started_record(at), point_record(at, 1), end}));
    ASSERT_TRUE(
        store_->update_run({.run_id = run_id, .state = RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
  }
};

TEST_F(UpkeepTest, ABackupUnderWayHoldsNoSnapshotAndHasWhatIsWrittenMeanwhile) {
  auto source = Connection::open(folder_.file("live"), Connection::Mode::kCreate, 1);
  ASSERT_TRUE(source);
  ASSERT_TRUE(source->script(
      "PRAGMA journal_mode=WAL; CREATE TABLE t (i INTEGER PRIMARY KEY, body BLOB);"
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i<3000) "
      "INSERT INTO t SELECT i, randomblob(6000) FROM n"));
  auto copy = LiveBackup::begin(*source, folder_.file("copy"));
  ASSERT_TRUE(copy) << copy.error().message;
  const auto more = (*copy)->step();
  ASSERT_TRUE(more) << more.error().message;
  ASSERT_TRUE(*more) << "it has more than one step";
  ASSERT_TRUE(
      source->script("UPDATE t SET body='first page' WHERE i=1;"
                     "INSERT INTO t VALUES (4000, 'behind')"));
  EXPECT_EQ(source->integer("PRAGMA wal_checkpoint(TRUNCATE)").value(), 0)
      << "nobody is in the log";
  EXPECT_EQ(std::filesystem::file_size(folder_.file("live-wal")), 0u);
  for (bool goes_on = true; goes_on;) {
    const auto stepped = (*copy)->step();
    ASSERT_TRUE(stepped) << stepped.error().message;
    goes_on = *stepped;
  }
  ASSERT_TRUE((*copy)->finish());
  copy->reset();
  auto opened = Connection::open(folder_.file("copy"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->integer("SELECT count(*) FROM t").value(), 3'001);
  EXPECT_EQ(
      opened->integer("SELECT count(*) FROM t WHERE body IN ('first page', 'behind')").value(), 2);
  EXPECT_EQ(opened->integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='delete'")
                .value(),
            1)
      << "a plain file";
}

TEST_F(UpkeepTest, AStopEndsWhatReadsTheWholeFile) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->flush());
  Upkeep upkeep;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    upkeep.stop();
  });
  const StoreOptions options{.path = folder_.file("db")};
  const auto ended =
      upkeep.run(options, "check", [](Connection& reader) { return reader.integer(kEndless); });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
  EXPECT_THAT(ended.error().message, HasSubstr("the controller is stopping"));
  store_->stop_upkeep();
  const Status backup = store_->back_up(folder_.file("copy"));
  ASSERT_FALSE(backup);
  EXPECT_EQ(backup.error().code, Code::kCancelled) << backup.error().message;
  for (const char* name : {"copy", "copy.part"})
    EXPECT_FALSE(std::filesystem::exists(folder_.file(name))) << name;
}

TEST_F(UpkeepTest, WhatKeepsRecordsWaitingGivesWay) {
  Upkeep upkeep;
  EXPECT_FALSE(upkeep.yield("nothing runs"));
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    while (!done && !upkeep.yield("the log grew")) std::this_thread::yield();
  });
  const StoreOptions options{.path = folder_.file("db")};
  const auto ended =
      upkeep.run(options, "check", [](Connection& reader) { return reader.integer(kEndless); });
  done = true;
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
  EXPECT_THAT(ended.error().message, HasSubstr("check: ended: the log grew"));
}

TEST_F(UpkeepTest, WhatNobodyWaitsForEnds) {
  Upkeep upkeep;
  std::atomic<int> asked = 0;
  const StoreOptions options{.path = folder_.file("db")};
  const auto ended = upkeep.run(
      options, "check", [](Connection& reader) { return reader.integer(kEndless); },
      [&asked] { return ++asked >= 2; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
  EXPECT_THAT(ended.error().message, HasSubstr("check: ended: its caller is gone"));
  const auto whole = upkeep.run(
      options, "check", [](Connection& reader) { return reader.integer("SELECT 7"); },
      [] { return false; });
  EXPECT_EQ(whole.value(), 7);
}

TEST_F(UpkeepTest, ADamagedDatabaseGivesNoBackup) {
  plan_run(*store_, "r1", 30);
  for (int i = 1; i <= 30; ++i) append_passed(*store_, {.task_id = fmt::format("t{:04}", i)});
  const std::int64_t page = count("SELECT max(pageno) FROM dbstat WHERE name='point'");
  store_.reset();
  {
    std::fstream file(folder_.file("db"), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp((page - 1) * 4096);
    file << std::string(200, '\xa5');
  }
  reopen();
  const Status refused = store_->back_up(folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr("restore an older backup"));
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("copy.part")));
}

TEST_F(UpkeepTest, ABackupIsRefusedWhereThereIsNoRoomForIt) {
  const auto refused = begin_backup(folder_.file("copy"), 1e18);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_THAT(refused.error().message, HasSubstr("MB are needed"));
  store_.reset();
  store_ = open_store(folder_.file("db"), {.min_free_bytes = 1e18});
  EXPECT_EQ(store_->back_up(folder_.file("copy")).error().code, Code::kResourceExhausted)
      << "what new runs want to find free is not its";
}

TEST_F(UpkeepTest, AnothersUnfinishedFileIsNotTouched) {
  std::ofstream(folder_.file("copy.part")) << "precious";
  const Status refused = store_->back_up(folder_.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(folder_.file("copy.part")), 8u);
}

TEST_F(UpkeepTest, ALevelThatIsRefusedKeepsTheOthersFromNothing) {
  ended_run("decade", 4'000, 4'000);
  ended_run("year", 500, 500);
  ended_run("other", 490, 490);
  ended_run("new", 1, 1);
  const auto refused = store_->prune({.largest_share = 0.5}, kNow);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("3 of 4 runs")) << "of the distributions";
  EXPECT_EQ(count("SELECT count(*) FROM point"), 3) << "one run's points were too old";
  EXPECT_EQ(count("PRAGMA freelist_count"), 0);
}

TEST_F(UpkeepTest, ARunMadeWhileTheClockWasBehindIsKept) {
  ended_run("old", 4'000, 4'000);
  ended_run("behind", 3'900, 1);  // the node's clock was right
  ended_run("right", 2, 2);
  ended_run("after", 3'800, 3'800);  // both were wrong, yet it came after "right"
  const auto counts = store_->prune({}, kNow);
  ASSERT_TRUE(counts) << counts.error().message;
  EXPECT_EQ(counts->points, 1) << "the old one's";
  EXPECT_EQ(store_->results({.run_id = "behind", .all_attempts = true})->size(), 1u);
  EXPECT_EQ(store_->results({.run_id = "after", .all_attempts = true})->size(), 1u);
}

TEST_F(UpkeepTest, EventsGoWhenTheyAreTenYearsOld) {
  ASSERT_TRUE(store_->add_event({.at = kNow - 3'700 * kDaySeconds, .kind = "stack_changed"}));
  ASSERT_TRUE(store_->add_event({.at = kNow - 3'600 * kDaySeconds, .kind = "stack_changed"}));
  ASSERT_TRUE(store_->flush());
  ASSERT_TRUE(store_->prune({}, kNow));
  EXPECT_EQ(store_->list_events(10)->size(), 1u);
}

TEST_F(UpkeepTest, AStatementWhoseCallerIsGoneEnds) {
  const auto ended = store_->sql(kEndless, 10, 60, [] { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace railgauge::store

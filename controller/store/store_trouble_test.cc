// The store while its database is locked, full or another controller's: what nobody sends again is
// stored in the end, and nobody takes it away.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/backup.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

RunUpdate end_of(const std::string& run_id) {
  return {.run_id = run_id,
          .state = RunState::kEnded,
          .outcome = "passed",
          .reason = "",
          .ended_at = 2e9};
}

Connection stranger_at(const TempFolder& folder) {
  auto stranger = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
  RG_CHECK(stranger.has_value());
  return std::move(*stranger);
}

void flush_in_the_end(Store& store) {
  constexpr int kLooks = 1'000;
  for (int look = 0; look < kLooks; ++look) {
    if (store.flush()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "never stored";
}

TEST(StoreTrouble, ARunThatEndsWhileAStrangerHoldsTheLockHasEndedAfterwards) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"), {.busy_timeout_seconds = 0.02});
  plan_run(*store, "r1", 1);
  Connection stranger = stranger_at(folder);
  ASSERT_TRUE(stranger.script("BEGIN IMMEDIATE"));
  std::atomic<int> told = 0;
  ASSERT_TRUE(store->update_task(
      {.run_id = "r1", .task_id = "t0001", .state = TaskState::kEnded, .outcome = "passed"}));
  ASSERT_TRUE(
      store->update_run(end_of("r1"), [&](const Status& status) { told = status ? 1 : -1; }));
  ASSERT_TRUE(store->add_event({.kind = "stack_changed", .text = "x"}));
  while (store->stats()->failed_batches < 2) std::this_thread::yield();
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kRunning);
  EXPECT_EQ(told, 0) << "nobody is told of an end that is not stored";
  ASSERT_TRUE(stranger.script("ROLLBACK"));
  flush_in_the_end(*store);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kEnded);
  EXPECT_EQ(store->run_detail("r1")->tasks.at(0).task.outcome, "passed");
  EXPECT_EQ(store->list_events(1)->at(0).kind, "stack_changed");
  const auto ended = store->end_interrupted_runs();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->empty()) << "the next start finds nothing open";
}

TEST(StoreTrouble, ARunThatEndsOnAFullDiskHasEndedOnceThereIsRoom) {
  const TempFolder folder;
  {
    auto store = open_store(folder.file("db"));
    plan_run(*store, "r1", 1);
  }
  const auto pages =
      static_cast<std::int64_t>(std::filesystem::file_size(folder.file("db")) / 4096);
  auto store = open_store(folder.file("db"), {.max_pages = pages + 8});
  const std::string long_text(6'000, 'x');
  while (store->stats()->failed_batches == 0) {
    ASSERT_TRUE(store->add_event({.kind = "node_attached", .text = long_text}));
    if (!store->flush()) break;
  }
  std::atomic<int> told = 0;
  ASSERT_TRUE(
      store->update_run(end_of("r1"), [&](const Status& status) { told = status ? 1 : -1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(told, 0) << "it waits behind what came before it";
  Connection stranger = stranger_at(folder);
  ASSERT_TRUE(stranger.script("DELETE FROM event"));
  flush_in_the_end(*store);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kEnded);
}

TEST(StoreTrouble, AnUpdateOfARunThatIsNotThereFailsAloneAndAtOnce) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  plan_run(*store, "r1", 1);
  Status told;
  ASSERT_TRUE(store->update_run(end_of("nowhere"), [&](const Status& status) { told = status; }));
  ASSERT_TRUE(store->update_run(end_of("r1")));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(told.error().code, Code::kNotFound);
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kEnded);
}

TEST(StoreTrouble, ASecondControllerIsRefusedBeforeItChangesAnything) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(store->back_up(folder.file("copy")));
  std::filesystem::create_symlink(folder.file("db"), folder.file("link"));
  for (const char* name : {"db", "link"}) {
    const auto second = Store::open({.path = folder.file(name)});
    ASSERT_FALSE(second) << name;
    EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(second.error().message, HasSubstr("stop railgauge-controller"));
    EXPECT_THAT(second.error().message, HasSubstr(fmt::format("process {}", ::getpid())));
  }
  const auto restored = restore(folder.file("copy"), folder.file("db"));
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kRunning);
  store.reset();
  EXPECT_TRUE(Store::open({.path = folder.file("db")}));
}

TEST(StoreTrouble, OpeningUnderAStrangersLockWaitsForIt) {
  const TempFolder folder;
  {
    auto store = open_store(folder.file("db"));
    plan_run(*store, "r1", 1);
  }
  Connection stranger = stranger_at(folder);
  ASSERT_TRUE(stranger.script("BEGIN IMMEDIATE"));
  auto store = open_store(folder.file("db"), {.busy_timeout_seconds = 0.02});
  EXPECT_EQ(store->run_summary("r1")->run.state, RunState::kRunning) << "reading works";
  const auto refused = store->end_interrupted_runs();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  ASSERT_TRUE(stranger.script("ROLLBACK"));
  EXPECT_EQ(store->end_interrupted_runs()->size(), 1u);
}

std::optional<std::int64_t> mark_of(Store& store) {
  const auto nodes = store.list_nodes();
  return nodes && !nodes->empty() ? nodes->at(0).spool_through : std::nullopt;
}

TEST(StoreTrouble, ANodesMarkDoesNotPassOverADeliveryThatFailed) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"), {.busy_timeout_seconds = 0.02});
  plan_run(*store, "r1", 1);
  const auto deliver = [&](std::vector<Record> records, SpoolRange range) {
    Status told;
    EXPECT_TRUE(store->append_records(
        "id-1", std::move(records), [&](const Status& status) { told = status; }, range));
    static_cast<void>(store->flush());
    return told;
  };
  Connection stranger = stranger_at(folder);
  ASSERT_TRUE(stranger.script("BEGIN IMMEDIATE"));
  EXPECT_FALSE(deliver({started_record({}), point_record({}, 1)}, {1, 2}));
  ASSERT_TRUE(stranger.script("ROLLBACK"));
  const Status behind = deliver({point_record({}, 2), point_record({}, 3)}, {3, 4});
  ASSERT_FALSE(behind) << "it was under way when the one before it failed";
  EXPECT_EQ(behind.error().code, Code::kAborted);
  EXPECT_EQ(mark_of(*store), std::nullopt);
  EXPECT_TRUE(deliver({started_record({})}, {1, 1}));
  EXPECT_EQ(mark_of(*store), 1);
  EXPECT_TRUE(deliver({point_record({}, 1), point_record({}, 2), point_record({}, 3)}, {2, 4}));
  EXPECT_EQ(mark_of(*store), 4);
}

void expect_one_line(const Error& error) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

// Opens and reads a copy of the file with one flipped bit. True: an error was reported.
bool flip_is_noticed(const TempFolder& folder, std::uintmax_t at, int bit) {
  const std::string path = folder.file("flipped");
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::copy_file(folder.file("db"), path);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(byte ^ (1 << bit)));
  }
  auto store = Store::open({.path = path});
  if (!store) {
    expect_one_line(store.error());
    return true;
  }
  const auto rows = (*store)->results({.run_id = "all", .all_attempts = true});
  const auto problems = (*store)->check();
  const Status written = append(**store, "id-1", {point_record({.attempt = 9}, 1)});
  for (const Error& error : {rows ? Error{} : rows.error(), problems ? Error{} : problems.error(),
                             written ? Error{} : written.error()})
    expect_one_line(error);
  return !rows || !written || !problems || !problems->empty();
}

TEST(StoreTrouble, OneBitThatTurnedCrashesNothingAndABackupReplacesTheFile) {
  const TempFolder folder;
  {
    auto store = open_store(folder.file("db"));
    plan_run(*store, "r1", 30);
    for (int i = 1; i <= 30; ++i) append_passed(*store, {.task_id = fmt::format("t{:04}", i)});
    ASSERT_TRUE(store->back_up(folder.file("copy")));
  }
  std::mt19937 random(11);
  std::uniform_int_distribution<std::uintmax_t> place(
      0, std::filesystem::file_size(folder.file("db")) - 1);
  constexpr int kFlips = 60;
  int noticed = 0;
  for (int flip = 0; flip < kFlips; ++flip)
    noticed += flip_is_noticed(folder, place(random), flip % 8);
  EXPECT_GT(noticed, 0) << "a bit inside of a figure is seen by nobody, one of the structure is";
  EXPECT_TRUE(flip_is_noticed(folder, 4096 + 1, 7)) << "the second page's header";
  ASSERT_TRUE(restore(folder.file("copy"), folder.file("flipped")));
  auto store = open_store(folder.file("flipped"));
  EXPECT_EQ(store->results({.run_id = "all", .all_attempts = true})->size(), 30u);
  EXPECT_TRUE(store->check()->empty());
}

TEST(StoreTrouble, AFullQueuePushesBackAndLosesNothing) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"), {.max_queued_records = 50});
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
  std::atomic<int> told = 0;
  int refused = 0;
  for (std::uint32_t i = 1; i <= 2'000; ++i) {
    for (int tries = 0; tries < 1'000; ++tries) {
      const Status accepted = store->append_records(
          "id-1", {point_record({}, i)}, [&](const Status& status) { told += status ? 1 : 0; });
      if (accepted) break;
      EXPECT_EQ(accepted.error().code, Code::kResourceExhausted);
      ++refused;
      ASSERT_TRUE(store->flush());
    }
  }
  ASSERT_TRUE(store->flush());
  EXPECT_GT(refused, 0);
  EXPECT_EQ(told, 2'000);
  EXPECT_EQ(
      store->results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows})->size(),
      2'000u);
}

}  // namespace
}  // namespace railgauge::store

// The store against the world: killed, full, locked, damaged, read while it writes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/backup.h"
#include "kernels/fakes/full_disk.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

std::vector<Record> some_records(int points) {
  std::vector<Record> records{started_record({})};
  for (int i = 1; i <= points; ++i)
    records.push_back(point_record({}, static_cast<std::uint32_t>(i)));
  return records;
}

std::size_t points_in(Store& store) {
  const auto rows = store.results({.run_id = "all", .all_attempts = true, .limit = kMaxResultRows});
  EXPECT_TRUE(rows) << rows.error().message;
  return rows ? rows->size() : 0;
}

// Runs in a child process: appends, and reports on `pipe` after each commit.
[[noreturn]] void append_and_report(const std::string& path, int pipe) {
  setenv("RAILGAUGE_FAILPOINT", "store.records_committed", 1);
  auto store = Store::open({.path = path});
  if (!store) _exit(3);
  const Status accepted = (*store)->append_records("id-1", some_records(20), [pipe](const Status&) {
    const char told = 'x';
    if (::write(pipe, &told, 1) != 1) _exit(4);
  });
  static_cast<void>((*store)->flush());
  _exit(accepted ? 5 : 6);  // the failpoint kills before this
}

#ifdef RAILGAUGE_FAILPOINTS
TEST(StoreFault, KilledAfterTheCommitAndBeforeTheAnswerItStoresOnce) {
  const TempFolder folder;
  const std::string path = folder.file("db");
  {
    auto store = open_store(path);
    plan_run(*store, "r1", 1);
  }
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) append_and_report(path, ends[1]);
  ::close(ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  char told = 0;
  EXPECT_EQ(::read(ends[0], &told, 1), 0) << "nothing was acknowledged";
  ::close(ends[0]);

  auto store = open_store(path);
  EXPECT_EQ(points_in(*store), 20u) << "yet it was committed";
  ASSERT_TRUE(append(*store, "id-1", some_records(20))) << "so the agent sends it again";
  EXPECT_EQ(points_in(*store), 20u);
  EXPECT_EQ(store->stats()->orphan_records, 0);
}
#endif

#ifdef RAILGAUGE_FAILPOINTS
TEST(StoreFault, ARestoreKilledAnywhereIsAsBeforeOrSaysSoAndEndsWellWhenRunAgain) {
  for (const std::string where : {"store.restore_copied", "store.restore_marked",
                                  "store.restore_moved", "store.restore_published"}) {
    SCOPED_TRACE(where);
    const TempFolder folder;
    const std::string path = folder.file("db");
    {
      auto store = open_store(path);
      plan_run(*store, "r1", 1);
      ASSERT_TRUE(append(*store, "id-1", some_records(5)));
      ASSERT_TRUE(store->back_up(folder.file("copy")));
      ASSERT_TRUE(append(*store, "id-1", {point_record({}, 6)}));
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("RAILGAUGE_FAILPOINT", where.c_str(), 1);
      _exit(restore(folder.file("copy"), path) ? 5 : 6);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    const auto opened = Store::open({.path = path});
    if (where == "store.restore_copied") {
      ASSERT_TRUE(opened) << opened.error().message;
      EXPECT_EQ(points_in(**opened), 6u) << "nothing was replaced yet";
      continue;
    }
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message, HasSubstr("--restore BACKUP again"));
    const auto kept = restore(folder.file("copy"), path);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(points_in(*open_store(path)), 5u);
    EXPECT_EQ(points_in(*open_store(*kept)), 6u) << "what was there is kept, once";
    EXPECT_FALSE(std::filesystem::exists(path + ".restoring"));
  }
}
#endif

TEST(StoreFault, AFullDiskIsToldAndNothingIsAcknowledged) {
  const TempFolder folder;
  const std::string path = folder.file("db");
  {
    auto store = open_store(path);
    plan_run(*store, "r1", 1);
  }
  const auto pages = static_cast<std::int64_t>(std::filesystem::file_size(path) / 4096);
  std::size_t acknowledged = 0;
  {
    auto store = open_store(path, {.max_pages = pages + 8});
    Status told;
    std::uint32_t sequence = 0;
    ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
    while (told && sequence < 5'000) {
      told = append(*store, "id-1", {point_record({}, ++sequence)});
      if (told) acknowledged = sequence;
    }
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, Code::kResourceExhausted);
    EXPECT_THAT(told.error().message, HasSubstr("database or disk is full; free space"));
    EXPECT_EQ(points_in(*store), acknowledged) << "reading goes on";
    EXPECT_GE(store->stats()->failed_batches, 1);
  }
  auto store = open_store(path);
  EXPECT_EQ(points_in(*store), acknowledged);
  EXPECT_TRUE(append(*store, "id-1", some_records(static_cast<int>(acknowledged) + 1)))
      << "with room again, the rest is taken";
  EXPECT_EQ(points_in(*store), acknowledged + 1);
}

TEST(StoreFault, ADiskThatFillsUpLosesNothingAcknowledgedAndGoesOnWithRoom) {
  const TempFolder folder;
  const std::string path = folder.file("db");
  {
    auto store = open_store(path);
    plan_run(*store, "r1", 1);
  }
  fake::FullDisk disk(400'000);  // of log, and of database when the log is moved into it
  auto store = open_store(path, {.min_free_bytes = 0});
  ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
  Status told;
  std::uint32_t sequence = 0;
  std::size_t acknowledged = 0;
  while (told && sequence < 20'000) {
    told = append(*store, "id-1", {point_record({}, ++sequence)});
    if (told) acknowledged = sequence;
  }
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kResourceExhausted) << told.error().message;
  EXPECT_GT(disk.refusals(), 0);
  EXPECT_GT(acknowledged, 0u);
  EXPECT_EQ(points_in(*store), acknowledged) << "reading goes on";
  EXPECT_FALSE(append(*store, "id-1", {point_record({}, sequence)})) << "it is still full";
  disk.add_room(4'000'000);
  EXPECT_TRUE(append(*store, "id-1", some_records(static_cast<int>(acknowledged) + 1)));
  store.reset();
  store = open_store(path);
  EXPECT_EQ(points_in(*store), acknowledged + 1);
  EXPECT_THAT(*store->check(), testing::IsEmpty());
}

TEST(StoreFault, ABackupOntoADiskThatFillsUpLeavesNothingBehind) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"), {.min_free_bytes = 0});
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(append(*store, "id-1", some_records(500)));
  const fake::FullDisk disk(100'000);
  const Status refused = store->back_up(folder.file("copy"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  EXPECT_THAT(refused.error().message, HasSubstr("full"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("copy")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("copy.part")));
  EXPECT_EQ(points_in(*store), 500u);
}

// Root may write everywhere, so a child that is nobody tries.
std::string refusal_for_nobody(const std::string& path) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && (::setresgid(kNobody, kNobody, kNobody) != 0 ||
                             ::setresuid(kNobody, kNobody, kNobody) != 0))
      _exit(3);
    const auto refused = Store::open({.path = path});
    const std::string told = refused ? "opened" : refused.error().message;
    _exit(::write(ends[1], told.data(), told.size()) < 0 ? 4 : 0);
  }
  ::close(ends[1]);
  std::string told(4096, '\0');
  const ssize_t got = ::read(ends[0], told.data(), told.size());
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return "the child ended badly";
  told.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return told;
}

TEST(StoreFault, AFolderWithoutLeaveToWriteIsToldInOneLine) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.file("closed"));
  {
    auto store = open_store(folder.file("closed/db"));
    plan_run(*store, "r1", 1);
  }
  using std::filesystem::perms;
  std::filesystem::permissions(folder.file("."), perms::owner_all | perms::others_exec);
  std::filesystem::permissions(folder.file("closed"),
                               perms::owner_read | perms::owner_exec | perms::others_exec);
  for (const std::string name : {"closed/db", "closed/new"}) {
    const std::string told = refusal_for_nobody(folder.file(name));
    EXPECT_EQ(told.find('\n'), std::string::npos);
    EXPECT_THAT(told, testing::AllOf(HasSubstr(folder.file(name)), HasSubstr("writable")));
  }
  std::filesystem::permissions(folder.file("closed"), perms::owner_all);
}

TEST(StoreFault, AClockThatStepsBackLosesNothing) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  plan_run(*store, "r1", 1);
  std::vector<Record> records = some_records(4);
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i].set_unix_time_seconds(1.7e9 - 3'600.0 * static_cast<double>(i));
  ASSERT_TRUE(append(*store, "id-1", records));
  ASSERT_TRUE(append(*store, "id-1", records)) << "and is stored once";
  const auto rows = store->results({.run_id = "r1", .all_attempts = true});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 4u);
  EXPECT_LT(rows->front().measured_at, rows->back().measured_at) << "shown by time";
}

TEST(StoreFault, ADamagedDatabaseIsReplacedByItsBackup) {
  const TempFolder folder;
  const std::string path = folder.file("db");
  {
    auto store = open_store(path);
    plan_run(*store, "r1", 30);
    for (int i = 1; i <= 30; ++i) append_passed(*store, {.task_id = fmt::format("t{:04}", i)});
    ASSERT_TRUE(store->back_up(folder.file("backup")));
  }
  std::mt19937 random(8);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto size = std::filesystem::file_size(path);
    std::uniform_int_distribution<std::uintmax_t> place(0, size - 1);
    for (int flip = 0; flip < 2'000; ++flip) {
      file.seekp(static_cast<std::streamoff>(place(random)));
      file.put(static_cast<char>(random() & 0xffU));
    }
  }
  const auto kept = restore(folder.file("backup"), path);
  ASSERT_TRUE(kept) << kept.error().message;
  auto store = open_store(path);
  EXPECT_EQ(points_in(*store), 30u);
  EXPECT_THAT(*store->check(), testing::IsEmpty());
}

TEST(StoreFault, AStrangersLockIsWaitedForThenTold) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"), {.busy_timeout_seconds = 0.05});
  plan_run(*store, "r1", 1);
  auto stranger = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(stranger->script("BEGIN IMMEDIATE"));
  const Status refused = append(*store, "id-1", some_records(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(points_in(*store), 0u) << "reading goes on";
  ASSERT_TRUE(stranger->script("ROLLBACK"));
  while (!store->flush()) {  // a kept change is tried again
  }
  EXPECT_TRUE(append(*store, "id-1", some_records(1)));
  EXPECT_EQ(points_in(*store), 1u);
}

TEST(StoreFault, ADamagedFileGivesOneLineAndNoCrash) {
  const TempFolder folder;
  const std::string good = folder.file("good");
  {
    auto store = open_store(good);
    plan_run(*store, "r1", 50);
    for (int i = 1; i <= 50; ++i) append_passed(*store, {.task_id = fmt::format("t{:04}", i)});
  }
  const auto size = std::filesystem::file_size(good);
  int seen = 0;
  for (int step = 0; step < 40; ++step) {
    const std::string path = folder.file("damaged");
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
    std::filesystem::copy_file(good, path, std::filesystem::copy_options::overwrite_existing);
    if (step % 2 == 0) {
      std::filesystem::resize_file(path, size * static_cast<unsigned>(step + 1) / 45);
    } else {
      std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(size * static_cast<unsigned>(step) / 41));
      file << std::string(3'000, '\xa5');
    }
    auto store = Store::open({.path = path});
    if (!store) {
      ++seen;
      EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
      EXPECT_THAT(store.error().message, HasSubstr(path));
      continue;
    }
    const auto rows = (*store)->results({.run_id = "all"});
    const auto detail = (*store)->run_detail("r1");
    const Status written = append(**store, "id-1", some_records(3));
    if (!rows || !detail || !written) ++seen;
    for (const std::string& message :
         {rows ? "" : rows.error().message, detail ? "" : detail.error().message,
          written ? "" : written.error().message})
      EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_GT(seen, 20) << "most of this damage can be noticed";
}

TEST(StoreFault, ReadersSeeWholeBatchesWhileTheWriterIsBusy) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  plan_run(*store, "r1", 1);
  ASSERT_TRUE(append(*store, "id-1", {started_record({})}));
  constexpr std::uint32_t kBatch = 10;
  constexpr std::uint32_t kBatches = 60;
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  std::atomic<int> reads = 0;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      std::size_t before = 0;
      while (!stop) {
        const std::size_t now = points_in(*store);
        EXPECT_EQ(now % kBatch, 0u) << "half a batch was seen";
        EXPECT_GE(now, before);
        before = now;
        ++reads;
      }
    });
  for (std::uint32_t batch = 0; batch < kBatches; ++batch) {
    std::vector<Record> records;
    for (std::uint32_t i = 1; i <= kBatch; ++i)
      records.push_back(point_record({}, batch * kBatch + i));
    EXPECT_TRUE(append(*store, "id-1", std::move(records)));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(points_in(*store), kBatch * kBatches);
  EXPECT_GT(reads, 3);
}

}  // namespace
}  // namespace railgauge::store

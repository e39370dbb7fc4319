#include "agent/link/spool.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kAll = 1000;
constexpr std::size_t kMiB = 1U << 20U;

api::TaskRef task_ref(const std::string& id = "t1") {
  api::TaskRef ref;
  ref.set_run_id("r1");
  ref.set_task_id(id);
  ref.set_attempt(1);
  return ref;
}

Record record(std::uint32_t sequence, const std::string& text = "note",
              const std::string& task = "t1") {
  Record record;
  record.mutable_key()->set_run_id("r1");
  record.mutable_key()->set_task_id(task);
  record.mutable_key()->set_attempt(1);
  record.mutable_key()->set_sequence(sequence);
  record.mutable_note()->set_text(text);
  return record;
}

Record final_record(std::uint32_t sequence) {
  Record final = record(sequence);
  final.mutable_final()->set_outcome("passed");
  return final;
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class SpoolTest : public testing::Test {
 protected:
  TempDir folder_;

  Spool open(std::uint64_t max_bytes = 64 * kMiB, double keep_seconds = 3600) {
    auto spool = Spool::open(
        {.path = folder_ / "spool.db", .max_bytes = max_bytes, .keep_seconds = keep_seconds});
    EXPECT_TRUE(spool) << (spool ? "" : spool.error().message);
    return std::move(*spool);
  }
  static std::vector<std::uint32_t> sequences(Spool& spool, std::uint64_t after,
                                              std::size_t records = kAll,
                                              std::size_t bytes = kMiB) {
    std::vector<std::uint32_t> found;
    const auto read = spool.read(after, records, bytes);
    EXPECT_TRUE(read);
    for (const auto& one : *read) found.push_back(one.record().key().sequence());
    return found;
  }
  static void append(Spool& spool, std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t i = from; i < to; ++i) {
      const Record one = record(i);
      ASSERT_TRUE(spool.append({&one, 1}));
    }
  }
};

TEST_F(SpoolTest, GivesRecordsBackInOrderAndWithinBounds) {
  Spool spool = open();
  append(spool, 0, 5);
  EXPECT_THAT(sequences(spool, 0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(sequences(spool, 2), ElementsAre(2, 3, 4));
  EXPECT_THAT(sequences(spool, 0, 2), ElementsAre(0, 1));
  EXPECT_THAT(sequences(spool, 0, kAll, 1), ElementsAre(0));
}

TEST_F(SpoolTest, WhatWasNotAcknowledgedIsThereAfterAReopen) {
  {
    Spool spool = open();
    append(spool, 0, 4);
    ASSERT_TRUE(spool.acknowledge(2));
  }
  Spool spool = open();
  EXPECT_EQ(spool.acknowledged(), 2u);
  EXPECT_EQ(spool.waiting_records(), 2u);
  EXPECT_THAT(sequences(spool, spool.acknowledged()), ElementsAre(2, 3));
}

TEST_F(SpoolTest, SurvivesBeingKilledRightAfterAnAppend) {
  const pid_t child = ::fork();
  if (child == 0) {
    Spool spool = open();
    const std::vector<Record> records{record(0), record(1)};
    static_cast<void>(spool.append(records));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  Spool spool = open();
  EXPECT_THAT(sequences(spool, 0), ElementsAre(0, 1));
}

TEST_F(SpoolTest, AcknowledgingIsIdempotentAndNeverGoesBackOrBeyond) {
  Spool spool = open();
  append(spool, 0, 3);
  ASSERT_TRUE(spool.acknowledge(2));
  ASSERT_TRUE(spool.acknowledge(2));
  ASSERT_TRUE(spool.acknowledge(1));
  EXPECT_EQ(spool.acknowledged(), 2u);
  ASSERT_TRUE(spool.acknowledge(1000));
  EXPECT_EQ(spool.acknowledged(), 3u);
  append(spool, 3, 4);
  EXPECT_EQ(spool.waiting_records(), 1u);
}

TEST_F(SpoolTest, IdsDoNotRepeatAfterEverythingWasPruned) {
  {
    Spool spool = open(64 * kMiB, 0);
    append(spool, 0, 3);
    ASSERT_TRUE(spool.acknowledge(3));
    ASSERT_TRUE(spool.prune(4e9));
    EXPECT_THAT(sequences(spool, 0), IsEmpty());
  }
  Spool spool = open();
  append(spool, 3, 4);
  const auto read = spool.read(0, kAll, kMiB);
  ASSERT_TRUE(read);
  ASSERT_THAT(*read, SizeIs(1));
  EXPECT_EQ(read->front().spool_id(), 4u);
}

TEST_F(SpoolTest, PruningKeepsWhatIsYoungOrNotAcknowledged) {
  Spool spool = open();
  append(spool, 0, 3);
  ASSERT_TRUE(spool.acknowledge(1));
  ASSERT_TRUE(spool.prune(0));
  EXPECT_THAT(sequences(spool, 0), SizeIs(3));
  ASSERT_TRUE(spool.prune(4e9));
  EXPECT_THAT(sequences(spool, 0), ElementsAre(1, 2));
}

TEST_F(SpoolTest, ATaskIsOpenUntilItsFinalRecord) {
  Spool spool = open();
  ASSERT_TRUE(spool.open_task({.task = task_ref(), .pid = 42, .start_ticks = 7}));
  append(spool, 0, 2);
  auto tasks = spool.open_tasks();
  ASSERT_TRUE(tasks);
  ASSERT_THAT(*tasks, SizeIs(1));
  EXPECT_EQ(tasks->front().pid, 42);
  EXPECT_EQ(tasks->front().start_ticks, 7u);
  EXPECT_EQ(tasks->front().next_sequence, 2u);
  EXPECT_EQ(tasks->front().task.task_id(), "t1");
  const Record final = final_record(2);
  ASSERT_TRUE(spool.append({&final, 1}));
  tasks = spool.open_tasks();
  ASSERT_TRUE(tasks);
  EXPECT_THAT(*tasks, IsEmpty());
}

TEST_F(SpoolTest, AnAttemptRunsOnlyOnce) {
  Spool spool = open();
  ASSERT_TRUE(spool.open_task({.task = task_ref(), .pid = 42}));
  const Status again = spool.open_task({.task = task_ref(), .pid = 43});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
}

TEST_F(SpoolTest, AFullSpoolSaysSoAndLosesNothing) {
  Spool spool = open(128U << 10U);
  std::uint32_t stored = 0;
  Status status;
  for (; stored < 1000; ++stored) {
    const Record big = record(stored, std::string(4000, 'x'));
    status = spool.append({&big, 1});
    if (!status) break;
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kResourceExhausted);
  EXPECT_THAT(status.error().message, HasSubstr("full"));
  EXPECT_EQ(spool.waiting_records(), stored);
  EXPECT_THAT(sequences(spool, 0), SizeIs(stored));
}

TEST_F(SpoolTest, AFullSpoolForgetsWhatWasAcknowledged) {
  Spool spool = open(128U << 10U);
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Record big = record(i, std::string(4000, 'x'));
    ASSERT_TRUE(spool.append({&big, 1})) << i;
    ASSERT_TRUE(spool.acknowledge(i + 1));
  }
  const auto used = spool.used_bytes();
  ASSERT_TRUE(used);
  EXPECT_LE(*used, 128U << 10U);
  EXPECT_EQ(spool.waiting_records(), 0u);
}

TEST_F(SpoolTest, AFullSpoolForgetsAsManySmallRecordsAsALargeOneNeeds) {
  Spool spool = open(kMiB);
  std::vector<Record> small;
  for (std::uint32_t i = 0; i < 1'000; ++i) small.push_back(record(i, std::string(500, 'x')));
  Status status;
  std::uint64_t through = 0;
  while (spool.append(small)) {  // to the brim, a part of it acknowledged
    through = spool.last_id();
    if (through >= 1'000) break;
  }
  ASSERT_TRUE(spool.acknowledge(through));
  while (status) {
    const Record one = record(1'000, std::string(500, 'y'));
    if (*spool.used_bytes() + (8U << 10U) > kMiB) break;
    status = spool.append({&one, 1});
  }
  ASSERT_TRUE(status);
  const std::uint64_t waiting = spool.waiting_records();
  const Record large = record(2'000, std::string(400U << 10U, 'z'));
  status = spool.append({&large, 1});
  ASSERT_TRUE(status) << status.error().message << ": 256 small ones do not make room for it";
  EXPECT_EQ(spool.waiting_records(), waiting + 1) << "what was not acknowledged stays";
}

TEST_F(SpoolTest, RecordsAreKeptFromTheirAcknowledgementOn) {
  Spool spool = open(64 * kMiB, 3600);
  const double stored = unix_now();
  append(spool, 0, 2);
  ::usleep(300'000);
  ASSERT_TRUE(spool.acknowledge(2));
  ASSERT_TRUE(spool.prune(stored + 3600.2));
  EXPECT_THAT(sequences(spool, 0), SizeIs(2)) << "they were stored longer ago, not acknowledged";
  ASSERT_TRUE(spool.prune(unix_now() + 3601));
  EXPECT_THAT(sequences(spool, 0), IsEmpty());
}

TEST_F(SpoolTest, ASpoolOfTheFirstVersionIsTakenOver) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "spool.db").c_str(), &raw), SQLITE_OK);
  const std::string body = record(0).SerializeAsString();
  ASSERT_EQ(sqlite3_exec(raw,
                         "CREATE TABLE record (spool_id INTEGER PRIMARY KEY AUTOINCREMENT, "
                         "stored_unix_seconds REAL NOT NULL, body BLOB NOT NULL) STRICT;"
                         "CREATE TABLE task (run_id TEXT NOT NULL, task_id TEXT NOT NULL, attempt "
                         "INTEGER NOT NULL, rank INTEGER NOT NULL, pid INTEGER NOT NULL, "
                         "start_ticks INTEGER NOT NULL, next_sequence INTEGER NOT NULL DEFAULT 0, "
                         "opened_unix_seconds REAL NOT NULL, closed INTEGER NOT NULL DEFAULT 0, "
                         "PRIMARY KEY (run_id, task_id, attempt, rank)) STRICT, WITHOUT ROWID;"
                         "CREATE TABLE acknowledgement (one INTEGER PRIMARY KEY CHECK (one = 1), "
                         "through INTEGER NOT NULL) STRICT; INSERT INTO acknowledgement VALUES (1, "
                         "1); INSERT INTO record VALUES (1, 5.0, x''), (2, 6.0, x'');"
                         "PRAGMA user_version = 1",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(raw);
  Spool spool = open();
  EXPECT_EQ(spool.acknowledged(), 1u);
  EXPECT_EQ(spool.waiting_records(), 1u);
  ASSERT_TRUE(spool.prune(unix_now()));
  EXPECT_EQ(spool.read(0, kAll, kMiB)->size(), 2u) << "acknowledged just now, for all it knows";
  ASSERT_TRUE(spool.prune(unix_now() + 4000));
  EXPECT_EQ(spool.read(0, kAll, kMiB)->size(), 1u);
}

TEST_F(SpoolTest, ARecordThatCannotBeReadDoesNotHoldTheOthersBack) {
  auto spool = Spool::open({.path = folder_ / "spool.db"});
  ASSERT_TRUE(spool);
  const std::vector<Record> records{record(0, "\xff is no text"), record(1)};
  ASSERT_TRUE(spool->append(records));
  const auto read = spool->read(0, kAll, kMiB);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].spool_id(), 1u);
  EXPECT_EQ((*read)[0].record().ByteSizeLong(), 0u);
  EXPECT_EQ((*read)[1].record().key().sequence(), 1u);
}

TEST_F(SpoolTest, AFileThatIsNoSpoolIsToldAndNotTouched) {
  folder_.write("spool.db", std::string(8192, 'z'));
  const auto spool = Spool::open({.path = folder_ / "spool.db"});
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code, Code::kDataLoss);
  EXPECT_THAT(spool.error().message, HasSubstr("spool.db"));
}

TEST_F(SpoolTest, AFolderThatIsNotThereIsAnError) {
  const auto spool = Spool::open({.path = folder_ / "missing/spool.db"});
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace railgauge::agent

#include "agent/spool.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

#include "controller/store/ingest/writer.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Holds the writer thread inside a job until it is opened.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void await_entered() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return entered_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool open_ = false;
};

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 0.01);
    RG_CHECK(opened.has_value());
    connection_.emplace(std::move(*opened));
    RG_CHECK(connection_->script("PRAGMA journal_mode=WAL").has_value());
    RG_CHECK(connection_->script("CREATE TABLE t (i INTEGER UNIQUE) STRICT").has_value());
    start({});
  }
  void start(WriterLimits limits) {
    writer_.reset();
    writer_ = std::make_unique<Writer>(*connection_, limits, [this] { ++forgotten_; });
  }
  WriteJob insert(int value, std::size_t records = 1, std::size_t bytes = 1) {
    return {
        .apply = [this, value] { return connection_->execute("INSERT INTO t VALUES (?1)", value); },
        .done =
            [this, value](const Status& status) {
              told_.push_back(status ? value : -value);
              if (!status) last_error_ = status.error();
            },
        .records = records,
        .bytes = bytes};
  }
  WriteJob kept(int value) {
    WriteJob job = insert(value, 0, 0);
    job.is_kept = true;
    return job;
  }
  Status flush() {
    return writer_->submit_and_wait([] { return Status(); }, 10);
  }
  std::int64_t stored() {
    writer_.reset();  // the connection is ours again
    return RG_CHECKED(connection_->integer("SELECT count(*) FROM t"));
  }
  static std::int64_t RG_CHECKED(const Result<std::optional<std::int64_t>>& value) {
    RG_CHECK(value.has_value() && value->has_value());
    return **value;
  }
  // Blocks the writer with a job, so that what follows comes into one batch. The job shares the
  // gate: the writer may still be leaving wait() when the test that opened it returns.
  std::shared_ptr<Gate> hold() {
    auto gate = std::make_shared<Gate>();
    RG_CHECK(writer_->submit({.apply = [gate] {
      gate->wait();
      return Status();
    }}));
    gate->await_entered();
    return gate;
  }

  TempFolder folder_;
  std::optional<Connection> connection_;
  std::vector<int> told_;  // by the writer thread; read after flush
  Error last_error_;
  int forgotten_ = 0;
  std::unique_ptr<Writer> writer_;
};

TEST_F(WriterTest, JobsAreToldInTheirOrderAfterOneCommit) {
  const auto gate = hold();
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(writer_->submit(insert(i)));
  gate->open();
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_LE(writer_->stats().committed_batches, 3u) << "the five shared a commit";
  EXPECT_EQ(writer_->stats().committed_records, 5u);
  EXPECT_EQ(stored(), 5);
}

TEST_F(WriterTest, AFailingJobIsUndoneAloneAndTold) {
  const auto gate = hold();
  ASSERT_TRUE(writer_->submit(insert(1)));
  ASSERT_TRUE(writer_->submit(
      {.apply = [this]() -> Status {
         RG_TRY_OK(connection_->execute("INSERT INTO t VALUES (100)"));
         return connection_->execute("INSERT INTO t VALUES (1)");
       },
       .done = [this](const Status& status) { last_error_ = status ? Error{} : status.error(); }}));
  ASSERT_TRUE(writer_->submit(insert(2)));
  gate->open();
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(1, 2));
  EXPECT_EQ(last_error_.code, Code::kAlreadyExists);
  EXPECT_EQ(forgotten_, 1);
  EXPECT_EQ(stored(), 2) << "the failing job's first row is gone";
}

TEST_F(WriterTest, ADatabaseInTroubleFailsTheWholeBatchAndTheNextOneWorks) {
  auto stranger = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 0.01);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(stranger->script("BEGIN IMMEDIATE"));
  ASSERT_TRUE(writer_->submit(insert(1)));
  EXPECT_FALSE(flush());
  EXPECT_THAT(told_, ElementsAre(-1));
  EXPECT_EQ(last_error_.code, Code::kUnavailable);
  EXPECT_THAT(last_error_.message, HasSubstr("another program holds its lock"));
  ASSERT_TRUE(stranger->script("ROLLBACK"));
  ASSERT_TRUE(writer_->submit(insert(1)));
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(-1, 1));
  EXPECT_GE(writer_->stats().failed_batches, 1u);
}

TEST_F(WriterTest, WhatIsKeptIsTriedAgainInOrderUntilTheDatabaseIsThere) {
  auto stranger = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 0.01);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(stranger->script("BEGIN IMMEDIATE"));
  ASSERT_TRUE(writer_->submit(kept(1)));
  ASSERT_TRUE(writer_->submit(insert(2)));
  ASSERT_TRUE(writer_->submit(kept(1)));
  ASSERT_TRUE(writer_->submit(kept(3)));
  while (writer_->stats().kept_jobs < 3 || writer_->stats().queued_records > 0)
    std::this_thread::yield();
  const Status waiting = writer_->flush(10);
  ASSERT_FALSE(waiting);
  EXPECT_THAT(told_, ElementsAre(-2)) << "records are told at once: their spool has them";
  EXPECT_EQ(writer_->stats().kept_jobs, 3u);
  ASSERT_TRUE(stranger->script("ROLLBACK"));
  while (!writer_->flush(10)) std::this_thread::yield();
  EXPECT_THAT(told_, ElementsAre(-2, 1, -1, 3)) << "a job that is wrong itself fails alone";
  EXPECT_EQ(last_error_.code, Code::kAlreadyExists);
  EXPECT_EQ(writer_->stats().kept_jobs, 0u);
  EXPECT_EQ(stored(), 2);
}

TEST_F(WriterTest, OthersGoOnWhileAKeptJobWaits) {
  std::atomic<bool> works = false;
  WriteJob job = kept(1);
  job.apply = [&works, moved = std::move(job.apply)]() -> Status {
    if (!works) return fail(Code::kUnavailable, "not now");
    return moved();
  };
  ASSERT_TRUE(writer_->submit(std::move(job)));
  ASSERT_TRUE(writer_->submit(kept(2)));
  while (writer_->stats().failed_batches == 0) std::this_thread::yield();
  ASSERT_TRUE(writer_->submit(insert(3)));
  while (writer_->stats().committed_records == 0) std::this_thread::yield();
  works = true;
  while (!writer_->flush(10)) std::this_thread::yield();
  EXPECT_THAT(told_, ElementsAre(3, 1, 2));
}

TEST_F(WriterTest, WhatIsKeptIsToldWhenTheStoreEnds) {
  start({.close_seconds = 0.1});
  auto stranger = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 0.01);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(stranger->script("BEGIN IMMEDIATE"));
  ASSERT_TRUE(writer_->submit(kept(1)));
  while (writer_->stats().failed_batches == 0) std::this_thread::yield();
  writer_.reset();
  EXPECT_THAT(told_, ElementsAre(-1));
  EXPECT_EQ(last_error_.code, Code::kUnavailable);
}

TEST_F(WriterTest, AFullLogHoldsRecordsBackButNoEndOfARun) {
  std::atomic<Room> room = Room::kControl;
  writer_.reset();
  writer_ = std::make_unique<Writer>(
      *connection_, WriterLimits{}, [] {}, [&room] { return room.load(); });
  ASSERT_TRUE(writer_->submit(insert(1)));
  ASSERT_TRUE(writer_->submit(kept(2)));
  while (writer_->stats().committed_batches == 0) std::this_thread::yield();
  EXPECT_EQ(writer_->stats().committed_records, 0u);
  EXPECT_FALSE(writer_->flush(0.05)) << "it is not committed yet";
  room = Room::kAll;
  ASSERT_TRUE(flush());
  while (writer_->stats().committed_records == 0) std::this_thread::yield();
  EXPECT_THAT(told_, ElementsAre(2, 1));
  writer_.reset();
}

TEST_F(WriterTest, AFullQueueRefusesAndNeverCallsBack) {
  start({.max_records = 10, .max_bytes = 100});
  const auto gate = hold();
  ASSERT_TRUE(writer_->submit(insert(1, 8, 10)));
  const Status many = writer_->submit(insert(2, 3, 10));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Code::kResourceExhausted);
  EXPECT_THAT(many.error().message, HasSubstr("8 records (10 bytes) are waiting"));
  EXPECT_FALSE(writer_->submit(insert(3, 1, 91)));
  EXPECT_TRUE(writer_->submit(insert(4, 0, 0))) << "states of runs have room of their own";
  gate->open();
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(1, 4));
  ASSERT_TRUE(writer_->submit(insert(5, 8, 500))) << "an empty queue takes a large one";
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(1, 4, 5));
}

TEST_F(WriterTest, ControlJobsAreBoundedToo) {
  const auto gate = hold();
  for (std::size_t i = 0; i < kMaxControlJobs; ++i)
    ASSERT_TRUE(writer_->submit({.apply = [] { return Status(); }}));
  EXPECT_FALSE(writer_->submit({.apply = [] { return Status(); }}));
  gate->open();
}

TEST_F(WriterTest, ClosingCommitsWhatIsQueued) {
  const auto gate = hold();
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(writer_->submit(insert(i)));
  gate->open();
  writer_.reset();
  EXPECT_THAT(told_, ElementsAre(1, 2, 3));
}

TEST_F(WriterTest, ClosingTellsWhatItHadNoTimeFor) {
  start({.close_seconds = 0});
  const auto gate = hold();
  ASSERT_TRUE(writer_->submit(insert(1)));
  std::thread opener([&] { gate->open(); });
  writer_.reset();
  opener.join();
  ASSERT_EQ(told_.size(), 1u) << "exactly once, whichever way it went";
}

TEST_F(WriterTest, ACallbackMaySubmit) {
  WriteJob first = insert(1);
  first.done = [this](const Status&) { ASSERT_TRUE(writer_->submit(insert(2))); };
  ASSERT_TRUE(writer_->submit(std::move(first)));
  ASSERT_TRUE(flush());
  ASSERT_TRUE(flush());
  EXPECT_THAT(told_, ElementsAre(2));
}

TEST_F(WriterTest, CommitsThatMayChangeNodesAreCountedBeforeTheyAreReported) {
  const auto nothing = [] { return Status(); };
  ASSERT_TRUE(writer_->submit({.apply = nothing, .records = 1}));
  ASSERT_TRUE(writer_->submit({.apply = nothing, .is_kept = true}));
  ASSERT_TRUE(writer_->flush(5));
  EXPECT_EQ(writer_->node_changes(), 0U);
  std::uint64_t counted = 0;
  ASSERT_TRUE(writer_->submit({.apply = nothing,
                               .done = [&](const Status&) { counted = writer_->node_changes(); },
                               .may_change_nodes = true}));
  ASSERT_TRUE(writer_->flush(5));
  EXPECT_EQ(counted, 1U);
  ASSERT_TRUE(writer_->submit_and_wait(nothing, 5));
  EXPECT_EQ(writer_->node_changes(), 2U) << "a topic's write may be about nodes";
}

TEST_F(WriterTest, WaitingHasADeadline) {
  const auto gate = hold();
  const Status late = writer_->submit_and_wait([] { return Status(); }, 0.01);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  gate->open();
}

TEST_F(WriterTest, WhatACallerGaveUpIsNotAppliedLater) {
  const auto gate = hold();
  const auto apply = [this] { return connection_->execute("INSERT INTO t VALUES (7)"); };
  EXPECT_FALSE(writer_->submit_and_wait(apply, 0.01));
  gate->open();
  ASSERT_TRUE(flush());
  EXPECT_EQ(stored(), 0);
}

}  // namespace
}  // namespace railgauge::store

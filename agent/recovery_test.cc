#include "agent/recovery.h"

#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/os/subprocess.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
using testing::IsEmpty;
using testing::SizeIs;

class Recovery : public testing::Test {
 protected:
  TempDir folder_;
  Spool spool_ = std::move(*Spool::open({.path = folder_ / "spool.db"}));

  static OpenTask task(pid_t pid, std::uint64_t start_ticks) {
    OpenTask task;
    task.task.set_run_id("r1");
    task.task.set_task_id("t1");
    task.task.set_attempt(2);
    task.task.set_rank(1);
    task.pid = pid;
    task.start_ticks = start_ticks;
    return task;
  }
  static Subprocess sleeper() {
    auto child = Subprocess::spawn(
        {.argv = {"/bin/sh", "-c", "sleep 60"}, .child_reads = {}, .child_writes = {2}});
    EXPECT_TRUE(child);
    return std::move(*child);
  }
};

TEST_F(Recovery, AnOpenTaskGetsTheFinalRecordThatIsMissing) {
  ASSERT_TRUE(spool_.open_task(task(0, 0)));
  Record note;
  note.mutable_key()->set_run_id("r1");
  note.mutable_key()->set_task_id("t1");
  note.mutable_key()->set_attempt(2);
  note.mutable_key()->set_rank(1);
  note.mutable_note()->set_text("on the way");
  ASSERT_TRUE(spool_.append({&note, 1}));

  const auto recovered = recover_open_tasks(spool_);
  ASSERT_TRUE(recovered);
  ASSERT_THAT(recovered->finals, SizeIs(1));
  EXPECT_THAT(*spool_.open_tasks(), SizeIs(1));
  const Record& last = recovered->finals.front();
  EXPECT_EQ(last.key().sequence(), 1u);
  EXPECT_EQ(last.key().attempt(), 2u);
  EXPECT_EQ(last.key().rank(), 1u);
  EXPECT_EQ(last.final().outcome(), "crashed");
  EXPECT_EQ(last.final().reason(), "the agent was restarted while the task ran");
  ASSERT_TRUE(spool_.append(recovered->finals));
  EXPECT_THAT(*spool_.open_tasks(), IsEmpty());
}

TEST_F(Recovery, ALeftOverRunnerIsKilled) {
  Subprocess runner = sleeper();
  const auto ticks = process_start_ticks(runner.pid());
  ASSERT_TRUE(ticks);
  ASSERT_TRUE(spool_.open_task(task(runner.pid(), *ticks)));
  const auto recovered = recover_open_tasks(spool_);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->killed_runners, 1u);
  const auto exit = runner.reap();
  ASSERT_TRUE(exit);
  EXPECT_TRUE(WIFSIGNALED(exit->wait_status)) << exit->wait_status;
}

TEST_F(Recovery, AnotherProcessUnderTheSameNumberIsLeftAlone) {
  Subprocess stranger = sleeper();
  const auto ticks = process_start_ticks(stranger.pid());
  ASSERT_TRUE(ticks);
  ASSERT_TRUE(spool_.open_task(task(stranger.pid(), *ticks + 1)));
  const auto recovered = recover_open_tasks(spool_);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->killed_runners, 0u);
  EXPECT_FALSE(stranger.reap().has_value());
}

}  // namespace
}  // namespace railgauge::agent

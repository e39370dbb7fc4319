#include "agent/os/subprocess.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

constexpr double kPatienceNs = 10e9;

Subprocess::Options shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}, .child_reads = {3}, .child_writes = {4, 2}};
}

std::optional<Exit> wait_for(Subprocess& child) {
  const double end_ns = monotonic_now_ns() + kPatienceNs;
  while (monotonic_now_ns() < end_ns) {
    if (auto exit = child.reap()) return exit;
    ::usleep(2000);
  }
  return std::nullopt;
}

std::string read_to_end(int fd) {
  std::string out;
  const double end_ns = monotonic_now_ns() + kPatienceNs;
  while (read_available(fd, 1U << 20U, out) && monotonic_now_ns() < end_ns) ::usleep(2000);
  return out;
}

TEST(Subprocess, TalksOverTheGivenDescriptorsOnly) {
  auto child =
      Subprocess::spawn(shell("read line <&3; echo got $line >&4; echo lost; echo err >&2"));
  ASSERT_TRUE(child);
  ASSERT_EQ(::write(child->to_child_fd(0), "words\n", 6), 6);
  EXPECT_EQ(read_to_end(child->from_child_fd(0)), "got words\n");
  EXPECT_EQ(read_to_end(child->from_child_fd(1)), "err\n");
  const auto exit = wait_for(*child);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->wait_status, 0);
  EXPECT_GT(exit->max_resident_bytes, 0);
}

TEST(Subprocess, InheritsNothingElse) {
  Fd leak(::dup(STDERR_FILENO));  // without close-on-exec
  auto child =
      Subprocess::spawn(shell("ls /proc/self/fd | wc -l >&4; readlink /proc/self/fd/0 >&4"));
  ASSERT_TRUE(child);
  // 0 to 4, and the folder that ls itself reads.
  EXPECT_EQ(read_to_end(child->from_child_fd(0)), "6\n/dev/null\n");
}

TEST(Subprocess, RunsInItsOwnGroupWithAnEmptySignalMask) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto child = Subprocess::spawn(shell("sleep 60"));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(child);
  EXPECT_EQ(::getpgid(child->pid()), child->pid());
  child->signal_group(SIGTERM);
  const auto exit = wait_for(*child);
  ASSERT_TRUE(exit);
  EXPECT_TRUE(WIFSIGNALED(exit->wait_status));
  EXPECT_EQ(WTERMSIG(exit->wait_status), SIGTERM);
}

TEST(Subprocess, ReapingKillsWhatIsLeftOfTheGroup) {
  auto child = Subprocess::spawn(shell("sleep 60 & echo $! >&4"));
  ASSERT_TRUE(child);
  const auto exit = wait_for(*child);
  ASSERT_TRUE(exit);
  // End of file comes only when the grandchild, which holds the pipe too, is gone.
  const std::string grandchild = read_to_end(child->from_child_fd(0));
  EXPECT_FALSE(process_start_ticks(std::stoi(grandchild)).has_value());
}

TEST(Subprocess, ItsDestructorLeavesNoProcess) {
  pid_t pid = -1;
  {
    auto child = Subprocess::spawn(shell("trap '' TERM; sleep 60"));
    ASSERT_TRUE(child);
    pid = child->pid();
    EXPECT_TRUE(process_start_ticks(pid).has_value());
  }
  EXPECT_FALSE(process_start_ticks(pid).has_value());
}

TEST(Subprocess, ThePidfdTellsTheEnd) {
  auto child = Subprocess::spawn(shell("exit 3"));
  ASSERT_TRUE(child);
  if (child->exit_fd() < 0) GTEST_SKIP() << "this Linux kernel has no pidfd";
  pollfd set{child->exit_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&set, 1, static_cast<int>(kPatienceNs / 1e6)), 1);
  const auto exit = child->reap();
  ASSERT_TRUE(exit);
  EXPECT_EQ(WEXITSTATUS(exit->wait_status), 3);
}

TEST(Subprocess, AMissingProgramIsNotFound) {
  const auto child =
      Subprocess::spawn({.argv = {"/nonexistent/runner"}, .child_reads = {}, .child_writes = {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kNotFound);
  EXPECT_THAT(child.error().message, HasSubstr("/nonexistent/runner: start: No such file"));
}

TEST(Subprocess, AFileThatIsNoProgramIsDenied) {
  const auto child =
      Subprocess::spawn({.argv = {"/etc/passwd"}, .child_reads = {}, .child_writes = {}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, Code::kPermissionDenied);
}

TEST(Subprocess, ChangesAndRemovesVariablesForTheChildAlone) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  auto options = shell("echo ${CUDA_VISIBLE_DEVICES-none} $CUDA_DEVICE_ORDER ${PATH:+path} >&4");
  options.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  auto child = Subprocess::spawn(options);
  ASSERT_TRUE(child);
  EXPECT_EQ(read_to_end(child->from_child_fd(0)), "none PCI_BUS_ID path\n");
  EXPECT_STREQ(::getenv("CUDA_VISIBLE_DEVICES"), "1");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(RunCommand, GivesOutputAndStatus) {
  const auto output = run_command({"/bin/sh", "-c", "echo out; echo err >&2; exit 5"}, 10, 4096);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(WEXITSTATUS(output->wait_status), 5);
}

TEST(RunCommand, EndsACommandThatHangs) {
  const auto output = run_command({"/bin/sh", "-c", "sleep 60"}, 0.1, 4096);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, Code::kDeadlineExceeded);
}

TEST(RunCommand, EndsACommandThatPrintsWithoutEnd) {
  const auto output = run_command({"/bin/sh", "-c", "while :; do echo words; done"}, 10, 4096);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace railgauge::agent

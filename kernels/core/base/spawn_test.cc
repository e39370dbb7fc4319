#include "kernels/core/base/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr double kPatienceSeconds = 10;

// Both streams of a program, and its wait status.
struct Ended {
  std::string out;
  int status = -1;
};
Ended ended(Program program) {
  PipeEnds out = make_pipe().value();
  program.descriptors[STDOUT_FILENO] = out.write.get();
  const auto child = start_program(program);
  out.write.reset();
  if (!child) return {.out = child.error().message};
  Ended end;
  EXPECT_FALSE(read_available(out.read.get(), 1U << 20U, end.out));
  end.status = wait_for_end(*child, kPatienceSeconds).value_or(-1);
  return end;
}
Program shell(const std::string& script) { return {.argv = {"/bin/sh", "-c", script}}; }

TEST(StartProgram, SearchesThePathWhereItIsAskedTo) {
  EXPECT_EQ(ended({.argv = {"sh", "-c", "echo found"}, .searches_path = true}).out, "found\n");
  const auto refused = start_program({.argv = {"sh", "-c", "echo found"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
}

TEST(StartProgram, ADetachedOneHasAGroupOfItsOwnAndNoInput) {
  Program program = shell("[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo leads; cat");
  program.detached = true;
  EXPECT_EQ(ended(program).out, "leads\n");
}

TEST(StartProgram, HasItsOwnEnvironmentAndFolder) {
  Program program = shell("echo $WORD; pwd");
  program.environment = {"WORD=new"};
  program.folder = "/usr";
  EXPECT_EQ(ended(program).out, "new\n/usr\n");
}

// Each of ours has the number that the other one gets.
TEST(StartProgram, DescriptorsMayChangePlaces) {
  PipeEnds one = make_pipe().value();
  PipeEnds other = make_pipe().value();
  const int low = one.write.get();
  const int high = other.write.get();
  Program program = shell("cd /proc/$$/fd; echo low >" + std::to_string(low) + "; echo high >" +
                          std::to_string(high));
  program.descriptors = {{low, high}, {high, low}};
  ended(program);
  one.write.reset();
  other.write.reset();
  std::string to_one;
  std::string to_other;
  read_available(one.read.get(), 100, to_one);
  read_available(other.read.get(), 100, to_other);
  EXPECT_EQ(to_one, "high\n");
  EXPECT_EQ(to_other, "low\n");
}

TEST(StartProgram, ClosesOthersWhereAsked) {
  const Fd open(::dup(STDERR_FILENO));  // without close-on-exec
  Program program =
      shell("[ -e /proc/$$/fd/" + std::to_string(open.get()) + " ] && echo open || echo closed");
  EXPECT_EQ(ended(program).out, "open\n");
  program.closes_others = true;
  EXPECT_EQ(ended(program).out, "closed\n");
}

TEST(StartProgram, GetsSignalsThatAreBlockedOrIgnoredHere) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = ::signal(SIGTERM, SIG_IGN);
  const Ended end = ended(shell("kill -TERM $$; echo lives"));
  ::signal(SIGTERM, old);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(WIFSIGNALED(end.status));
  EXPECT_EQ(WTERMSIG(end.status), SIGTERM);
}

TEST(StartProgram, SaysWhyAProgramDoesNotStart) {
  const auto missing = start_program({.argv = {"/nonexistent/program"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().message, "/nonexistent/program: start: No such file or directory");
  EXPECT_EQ(start_program({.argv = {"/etc/passwd"}}).error().code, Code::kPermissionDenied);
  Program program = shell("true");
  program.descriptors = {{3, -1}};
  EXPECT_EQ(start_program(program).error().code, Code::kResourceExhausted);
}

TEST(ForkProcess, ExitsWithTheBodysValue) {
  const pid_t child = fork_process("test", [] { return 7; }).value();
  const auto status = wait_for_end(child);
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 7);
}

TEST(ForkProcess, PrintsAnExceptionBehindTheName) {
  PipeEnds err = make_pipe().value();
  const pid_t child = fork_process("rank 3", [&]() -> int {
                        ::dup2(err.write.get(), STDERR_FILENO);
                        throw std::runtime_error("no luck");
                      }).value();
  err.write.reset();
  std::string printed;
  read_available(err.read.get(), 1000, printed);
  EXPECT_EQ(printed, "rank 3: threw no luck\n");
  EXPECT_EQ(WEXITSTATUS(wait_for_end(child).value()), 4);
}

TEST(ForkProcess, AKilledParentLeavesNoChild) {
  PipeEnds pipe = make_pipe().value();
  const pid_t parent = fork_process("parent", [&] {
                         const auto child = fork_process("child", [&] {
                           return ::write(pipe.write.get(), "1", 1) == 1 ? ::pause() : 1;
                         });
                         return child ? ::pause() : 1;
                       }).value();
  pipe.write.reset();
  char byte = 0;
  ASSERT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  ::kill(parent, SIGKILL);
  EXPECT_EQ(WTERMSIG(wait_for_end(parent, kPatienceSeconds).value()), SIGKILL);
  // The pipe ends with the last process that holds it.
  pollfd end{pipe.read.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, static_cast<int>(kPatienceSeconds * 1e3)), 1);
  EXPECT_EQ(::read(pipe.read.get(), &byte, 1), 0);
}

TEST(WaitForEnd, LeavesOneThatRunsAndKnowsNoStranger) {
  const pid_t child = fork_process("test", [] { return ::pause(); }).value();
  EXPECT_FALSE(wait_for_end(child, 0));
  ::kill(child, SIGKILL);
  EXPECT_EQ(WTERMSIG(wait_for_end(child, kPatienceSeconds).value()), SIGKILL);
  EXPECT_FALSE(wait_for_end(child));
}

TEST(ReadAvailable, ReadsNoMoreThanTheLimitAndKnowsTheEnd) {
  PipeEnds pipe = make_pipe().value();
  set_nonblocking(pipe.read);
  ASSERT_EQ(::write(pipe.write.get(), "words", 5), 5);
  std::string text;
  EXPECT_TRUE(read_available(pipe.read.get(), 2, text));
  EXPECT_EQ(text, "wo");
  EXPECT_TRUE(read_available(pipe.read.get(), 100, text));
  EXPECT_EQ(text, "words");
  pipe.write.reset();
  EXPECT_FALSE(read_available(pipe.read.get(), 100, text));
}

}  // namespace
}  // namespace railgauge

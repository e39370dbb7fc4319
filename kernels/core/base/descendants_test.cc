#include "kernels/core/base/descendants.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

// 100 is this process; 1 is init.
Relations sample() {
  return {{1, {0, true}},      {2, {0, true}},      {100, {1, true}},   {110, {100, true}},
          {111, {110, true}},  {112, {111, false}}, {120, {100, true}}, {121, {120, true}},
          {130, {100, false}}, {200, {1, true}},    {201, {200, true}}, {300, {299, true}}};
}

TEST(Descendants, AreAllBelowAndNothingElse) {
  EXPECT_THAT(descendants_of(100, sample()), ElementsAre(110, 111, 112, 120, 121, 130));
  EXPECT_THAT(descendants_of(201, sample()), IsEmpty());
}

TEST(Descendants, OfSparedChildrenAreSparedToo) {
  EXPECT_THAT(descendants_of(100, sample(), {110, 130}), ElementsAre(120, 121));
  EXPECT_THAT(descendants_of(100, sample(), {110, 120, 130}), IsEmpty());
  EXPECT_THAT(descendants_of(100, sample(), {111, 121}), ElementsAre(110, 111, 112, 120, 121, 130))
      << "only children are spared";
}

TEST(Descendants, OfAProcessThatIsItsOwnAncestorAreFound) {
  EXPECT_THAT(descendants_of(100, {{5, {6, true}}, {6, {5, true}}, {101, {100, true}}}),
              ElementsAre(101));
}

TEST(Descendants, AreReadFromProc) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const Relations all = read_relations();
  EXPECT_THAT(descendants_of(::getpid(), all), ElementsAre(child));
  EXPECT_TRUE(all.at(child).lives);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(read_relations().at(child).lives);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(descendants_of(::getpid(), read_relations()), IsEmpty());
}

TEST(Descendants, WithoutTheirFirstThreadLive) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([&] {
      while (true) ::pause();
    }).detach();
    static_cast<void>(!::write(ready[1], "x", 1));
    ::syscall(SYS_exit, 0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(read_relations().at(child).lives);
    ::usleep(2000);
  }
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace railgauge

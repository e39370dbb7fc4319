// Strays of real runners: processes that leave their keeper, which the runner kills.
#include "agent/os/children.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/os/subprocess.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {

constexpr double kPatienceNs = 20e9;
constexpr double kEndNs = 3e9;
constexpr const char* kKillsTheKeeper = "kill -STOP $PPID; kill -KILL $PPID; sleep 600";

// As the agent: it is the parent of all orphans, and looks each second or more often.
class StraysTest : public testing::Test {
 protected:
  void SetUp() override { adopt_orphans(); }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  static Subprocess start(const std::string& script) {
    static const Confinement confinement{.keeper = KEEPER, .landlock = false};
    auto child = Subprocess::spawn({.argv = {"/bin/sh", "-c", script},
                                    .child_reads = {},
                                    .child_writes = {3},
                                    .confinement = &confinement});
    RG_CHECK(child);
    return std::move(*child);
  }
  // The number that the script writes to descriptor 3.
  static pid_t number_from(Subprocess& child) {
    std::string text;
    wait_until([&] {
      read_available(child.from_child_fd(0), 1U << 10U, text);
      return text.find('\n') != std::string::npos;
    });
    return text.empty() ? -1 : std::stoi(text);
  }
  template <class Met>
  static bool wait_until(const Met& met, double patience_ns = kPatienceNs) {
    const double end_ns = monotonic_now_ns() + patience_ns;
    bool is_met = met();
    while (!is_met && monotonic_now_ns() < end_ns) {
      ::usleep(2000);
      is_met = met();
    }
    return is_met;
  }
  static bool is_gone(pid_t process) { return ::kill(process, 0) != 0; }
};

TEST_F(StraysTest, OfARunnerThatKillsItsKeeperEnd) {
  Subprocess child = start(std::string("setsid sh -c 'trap \"\" TERM HUP; echo $$ >&3; exec sleep "
                                       "600' & sleep 0.3; ") +
                           kKillsTheKeeper);
  const pid_t stray = number_from(child);
  ASSERT_GT(stray, 0);
  std::optional<Exit> exit;
  ASSERT_TRUE(wait_until([&] { return (exit = child.reap()).has_value(); }));
  ASSERT_TRUE(WIFSIGNALED(exit->wait_status)) << "the keeper was not killed";
  EXPECT_TRUE(wait_until([&] { return end_strays_left(), is_gone(stray); }, kEndNs));
}

// Each process of the chain is in a session of its own, starts the next one and ends. The number
// bounds it should the agent lose.
constexpr const char* kChain =
    "export F='[ $N -gt 0 ] || exit 0; N=$((N-1)); echo 1 >&3; setsid sh -c \"$F\" &' N=20000; "
    "setsid sh -c \"$F\" & sleep 0.1; ";

TEST_F(StraysTest, ThatForkAwayEnd) {
  Subprocess child = start(std::string(kChain) + kKillsTheKeeper);
  ASSERT_GT(number_from(child), 0);
  ASSERT_TRUE(wait_until([&] { return child.reap().has_value(); }));
  // Descriptor 3 ends with the last process that has it.
  std::string links;
  EXPECT_TRUE(wait_until(
      [&] {
        end_strays_left();
        links.clear();
        return !read_available(child.from_child_fd(0), 1U << 20U, links);
      },
      kEndNs));
}

TEST_F(StraysTest, AreNoChildrenThatWereStartedHere) {
  auto other =
      Subprocess::spawn({.argv = {"/bin/sleep", "600"}, .child_reads = {}, .child_writes = {}});
  ASSERT_TRUE(other);
  Subprocess kept = start("echo $$ >&3; exec sleep 600");
  ASSERT_GT(number_from(kept), 0);
  Subprocess child = start(kKillsTheKeeper);
  ASSERT_TRUE(wait_until([&] { return child.reap().has_value(); }));
  end_strays();
  end_strays_left();
  EXPECT_FALSE(other->reap());
  EXPECT_FALSE(kept.reap());
}

TEST_F(StraysTest, AreNoChildrenFromBeforeTheStart) {
  const pid_t before = ::fork();
  if (before == 0) {
    ::pause();
    ::_exit(0);
  }
  adopt_orphans();
  end_strays();
  EXPECT_EQ(::waitpid(before, nullptr, WNOHANG), 0);
  ::kill(before, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return end_strays_left(), is_gone(before); })) << "a zombie is left";
}

TEST_F(StraysTest, ThatEndedAreReaped) {
  // The middle process ends at once, so that its child comes here.
  const auto said =
      run_command({"/bin/sh", "-c", "setsid sleep 0.2 >/dev/null 2>&1 & echo $!"}, 10, 100);
  ASSERT_TRUE(said);
  const pid_t orphan = std::stoi(said->out);
  ASSERT_FALSE(is_gone(orphan));
  EXPECT_TRUE(wait_until([&] { return end_strays_left(), is_gone(orphan); }));
}

}  // namespace
}  // namespace railgauge::agent

// The rendezvous of launched ranks, with forked ranks of this host in place of MPI.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>

#include "kernels/core/base/spawn.h"
#include "kernels/runner/local_ranks.h"
#include "kernels/runner/world_relay.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kRanks = 3;
constexpr double kPatienceSeconds = 20;

// A group that another object owns.
class Borrowed final : public Group {
 public:
  explicit Borrowed(Group& group) : group_(group) {}
  [[nodiscard]] std::uint32_t rank() const override { return group_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return group_.size(); }
  // MPI has no deadlines; a test has.
  Result<std::vector<std::string>> exchange(std::string mine, double) override {
    return group_.exchange(std::move(mine), kPatienceSeconds);
  }

 private:
  Group& group_;
};

// One task of one rank, in a process of its own; returns what the ranks said, or the error.
using Task = std::function<std::string(Group&)>;

// Runs the tasks as a launched rank does; returns what each left, separated by lines.
std::string run_tasks(Group& launched, const std::vector<Task>& tasks) {
  auto relay = WorldRelay::start({.rank = launched.rank(),
                                  .size = launched.size(),
                                  .join = [&] { return std::make_unique<Borrowed>(launched); },
                                  .leave = [] {}});
  if (!relay) return relay.error().message;
  std::string out;
  for (const Task& task : tasks) {
    auto pipe = make_pipe();
    if (!pipe) return pipe.error().message;
    const auto child = fork_process("task", [&] {
      const std::unique_ptr<Group> group = (**relay).group();
      const std::string words = task(*group);
      return ::write(pipe->write.get(), words.data(), words.size()) < 0 ? 1 : 0;
    });
    if (!child) return child.error().message;
    pipe->write = Fd();
    static_cast<void>(read_available(pipe->read.get(), 1U << 20U, out));
    wait_for_end(*child);
    (**relay).end_task();
    out += '\n';
  }
  return out;
}

std::string exchanged(Group& group, const std::string& mine) {
  const auto all = group.exchange(mine, kPatienceSeconds);
  if (!all) return all.error().message;
  std::string out;
  for (const std::string& one : *all) out += one;
  return out;
}

// Every rank runs the tasks; rank 0 returns what it and the others saw.
std::vector<std::string> run_ranks(const std::vector<Task>& tasks) {
  auto pipe = make_pipe();
  EXPECT_TRUE(pipe);
  auto ranks = start_local_ranks(kRanks, [&](Group& group) {
    const std::string saw = std::to_string(group.rank()) + run_tasks(group, tasks) + '\0';
    return ::write(pipe->write.get(), saw.data(), saw.size()) < 0 ? 1 : 0;
  });
  EXPECT_TRUE(ranks);
  std::vector<std::string> out(kRanks);
  out[0] = run_tasks(**ranks, tasks);
  pipe->write = Fd();
  ranks->reset();
  std::string others;
  static_cast<void>(read_available(pipe->read.get(), 1U << 20U, others));
  for (std::size_t begin = 0, end = 0; (end = others.find('\0', begin)) != std::string::npos;
       begin = end + 1)
    out.at(static_cast<std::size_t>(others[begin] - '0')) =
        others.substr(begin + 1, end - begin - 1);
  return out;
}

TEST(WorldRelay, PassesThePayloadsOfTaskAfterTask) {
  const Task twice = [](Group& group) {
    const std::string rank = std::to_string(group.rank());
    return exchanged(group, "a" + rank) + exchanged(group, "b" + rank);
  };
  for (const std::string& saw : run_ranks({twice, twice}))
    EXPECT_EQ(saw, "a0a1a2b0b1b2\na0a1a2b0b1b2\n");
}

// More than a socket holds: the largest payload of every rank.
TEST(WorldRelay, PassesTheLargestPayloads) {
  const Task large = [](Group& group) {
    const std::string mine(Group::kMaxPayload, static_cast<char>('a' + group.rank()));
    const std::string all = exchanged(group, mine);
    return std::to_string(all.size()) + all.front() + all.back();
  };
  for (const std::string& saw : run_ranks({large, large})) EXPECT_EQ(saw, "196608ac\n196608ac\n");
}

// The others learn which rank is missing; the next task has all ranks again.
TEST(WorldRelay, NamesTheRankWhoseTaskEndedOrCrashed) {
  const Task without_two = [](Group& group) {
    if (group.rank() == 2) return std::string("left");
    return exchanged(group, "x") + "; " + exchanged(group, "y");
  };
  const Task crash_of_one = [](Group& group) {
    if (group.rank() == 1) ::raise(SIGKILL);
    return exchanged(group, "z");
  };
  const Task whole = [](Group& group) { return exchanged(group, std::to_string(group.rank())); };
  const auto saw = run_ranks({without_two, crash_of_one, whole});
  const std::string two = "rank 2: its task has ended";
  const std::string one = "rank 1: its task has ended\n012\n";
  EXPECT_EQ(saw[0], two + "; " + two + "\n" + one);
  EXPECT_EQ(saw[1], two + "; " + two + "\n\n012\n");
  EXPECT_EQ(saw[2], "left\n" + one);
}

// A task that dies with payloads unread leaves none of them to the next.
TEST(WorldRelay, AnswersOfADeadTaskReachNoOther) {
  const Task dies_while_waiting = [](Group& group) {
    if (group.rank() == 0) {
      // The answer comes after the end of this process.
      static_cast<void>(group.exchange("old", 0));
      ::raise(SIGKILL);
    }
    return exchanged(group, "old");
  };
  const Task whole = [](Group& group) { return exchanged(group, std::to_string(group.rank())); };
  const auto saw = run_ranks({dies_while_waiting, whole});
  EXPECT_EQ(saw[0], "\n012\n");
  for (const std::uint32_t rank : {1U, 2U}) EXPECT_EQ(saw[rank], "oldoldold\n012\n");
}

}  // namespace
}  // namespace railgauge

#include "kernels/core/group/tcp_group.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <future>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"

namespace railgauge {
namespace {

using std::string_view_literals::operator""sv;

constexpr double kLong = 10;  // seconds; only a failing test waits for it
using GroupResult = Result<std::unique_ptr<Group>>;

Started task_of(std::uint32_t size = 2) {
  Started task;
  task.set_kernel("verbs.write_lat");
  task.set_revision(1);
  task.set_size(size);
  (*task.mutable_parameters())["size"] = "8";
  (*task.mutable_parameters())["depth"] = "1";
  return task;
}

class TcpGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    auto bound = TcpListener::bind("127.0.0.1:0");
    ASSERT_TRUE(bound) << bound.error().message;
    listener_.emplace(std::move(*bound));
    address_ = to_string(listener_->address());
  }
  std::future<GroupResult> join(const Started& task, double timeout_seconds = kLong) {
    return std::async(std::launch::async,
                      [=, this] { return join_tcp_group(address_, task, timeout_seconds); });
  }
  // Both ends of a group of two: the connecting side, rank 0, first.
  std::pair<std::unique_ptr<Group>, std::unique_ptr<Group>> pair() {
    auto joining = join(task_of());
    auto relay = listener_->accept(task_of(), 1, kLong);
    auto member = joining.get();
    EXPECT_TRUE(relay && member);
    return {std::move(member.value()), std::move(relay.value())};
  }
  Fd stranger() { return tcp_connect(listener_->address(), monotonic_now_ns() + 5e9).value(); }

  std::optional<TcpListener> listener_;
  std::string address_;
};

TEST_F(TcpGroupTest, TheConnectingSideIsRankZero) {
  auto [member, relay] = pair();
  EXPECT_EQ(member->rank(), 0U);
  EXPECT_EQ(relay->rank(), 1U);
  EXPECT_EQ(member->size(), 2U);
  EXPECT_EQ(relay->size(), 2U);
}

TEST_F(TcpGroupTest, ExchangeGivesAllPayloadsInRankOrder) {
  auto [member, relay] = pair();
  for (const std::string& payload :
       {std::string("queue pair 7"), std::string(), std::string("\0\xff", 2),
        std::string(Group::kMaxPayload, 'x')}) {
    auto other = std::async(std::launch::async,
                            [&, &group = relay] { return group->exchange("mine", kLong); });
    const auto all = member->exchange(payload, kLong);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, (std::vector<std::string>{payload, "mine"}));
    EXPECT_EQ(*other.get(), *all);
  }
}

TEST_F(TcpGroupTest, BarriersKeepStep) {
  auto [member, relay] = pair();
  auto other = std::async(std::launch::async, [&group = relay] {
    for (int i = 0; i < 100; ++i)
      if (!group->barrier(kLong)) return i;
    return 100;
  });
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(member->barrier(kLong));
  EXPECT_EQ(other.get(), 100);
}

TEST_F(TcpGroupTest, FiveRanksWithTheRelayInTheMiddle) {
  std::vector<std::future<GroupResult>> joining;
  joining.reserve(4);
  for (int i = 0; i < 4; ++i) joining.push_back(join(task_of(5)));
  auto relay = listener_->accept(task_of(5), 2, kLong);
  ASSERT_TRUE(relay) << relay.error().message;
  std::vector<std::unique_ptr<Group>> groups;
  groups.push_back(std::move(*relay));
  for (auto& one : joining) groups.push_back(one.get().value());
  std::vector<std::future<Result<std::vector<std::string>>>> exchanges;
  exchanges.reserve(groups.size());
  for (auto& group : groups)
    exchanges.push_back(std::async(std::launch::async, [&group] {
      return group->exchange(fmt::format("rank {}", group->rank()), kLong);
    }));
  for (auto& one : exchanges)
    EXPECT_EQ(one.get().value(),
              (std::vector<std::string>{"rank 0", "rank 1", "rank 2", "rank 3", "rank 4"}));
}

TEST_F(TcpGroupTest, BothSidesNameTheParameterThatDiffers) {
  Started other = task_of();
  (*other.mutable_parameters())["size"] = "64KiB";
  other.mutable_parameters()->erase("depth");
  auto joining = join(other);
  const auto relay = listener_->accept(task_of(), 1, kLong);
  const auto member = joining.get();
  ASSERT_FALSE(relay);
  ASSERT_FALSE(member);
  EXPECT_EQ(relay.error().code, Code::kInvalidArgument);
  EXPECT_EQ(member.error().code, Code::kInvalidArgument);
  EXPECT_EQ(member.error().message,
            "peer " + address_ +
                " runs verbs.write_lat with other parameters: "
                "\"depth\" \"1\" there and absent here, \"size\" \"8\" there and \"64KiB\" here");
  EXPECT_NE(relay.error().message.find("\"size\" \"64KiB\" there and \"8\" here"),
            std::string::npos);
}

TEST_F(TcpGroupTest, BothSidesNameTheKernelRevisionOrSizeThatDiffers) {
  const auto both = [&](const Started& other) {
    auto joining = join(other);
    const auto relay = listener_->accept(task_of(), 1, kLong);
    EXPECT_FALSE(relay);
    return joining.get().error().message;
  };
  Started kernel = task_of();
  kernel.set_kernel("verbs.write_bw");
  EXPECT_EQ(both(kernel),
            "peer " + address_ + " runs \"verbs.write_lat\", this side \"verbs.write_bw\"");
  Started revision = task_of();
  revision.set_revision(2);
  EXPECT_EQ(both(revision), "peer " + address_ + " runs verbs.write_lat revision 1, this side 2");
  EXPECT_EQ(both(task_of(3)),
            "peer " + address_ + " runs verbs.write_lat with 2 ranks, this side 3");
}

TEST_F(TcpGroupTest, AnotherVersionOfTheContractIsNamed) {
  FrameStream future_peer(stranger(), listener_->address());
  Started greeting = task_of();
  (*greeting.mutable_facts())["railgauge_group"] = "2";
  ASSERT_TRUE(future_peer.send(greeting, monotonic_now_ns() + 1e9));
  const auto relay = listener_->accept(task_of(), 1, kLong);
  ASSERT_FALSE(relay);
  EXPECT_EQ(relay.error().code, Code::kAborted);
  EXPECT_NE(relay.error().message.find("speaks version \"2\" of the group contract, this side 1"),
            std::string::npos);
}

TEST_F(TcpGroupTest, StrangersAreRefusedAndListeningGoesOn) {
  std::vector<Fd> strangers;
  for (
      const std::string_view text :
      {"GET /metrics HTTP/1.1\r\nHost: node2:7479\r\nUser-Agent: someone/1.0\r\nAccept: */*\r\n\r\n"sv,
       "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and more of a TLS hello"sv,
       "\xff\xff\xff\xff\xff\xff\xff\xff"sv, "\0\0\0\0"sv, ""sv}) {
    strangers.push_back(stranger());
    (void)::send(strangers.back().get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  strangers.pop_back();             // the last one connects, says nothing and leaves
  strangers.push_back(stranger());  // this one stays and says nothing
  auto joining = join(task_of());
  const auto relay = listener_->accept(task_of(), 1, kLong);
  ASSERT_TRUE(relay) << relay.error().message;
  EXPECT_TRUE(joining.get());
  EXPECT_GE(listener_->refused(), 5U);
}

TEST_F(TcpGroupTest, ManyStrangersAtOnceDoNotKeepAPeerOut) {
  std::vector<Fd> strangers;
  strangers.reserve(50);
  for (int i = 0; i < 50; ++i) strangers.push_back(stranger());
  auto joining = join(task_of());
  const auto relay = listener_->accept(task_of(), 1, kLong);
  ASSERT_TRUE(relay) << relay.error().message;
  EXPECT_TRUE(joining.get());
}

TEST_F(TcpGroupTest, AListenerWithoutAPeerEndsByItsDeadlineAndSaysWhoCame) {
  {
    const Fd passer_by = stranger();
    (void)::send(passer_by.get(), "\xff\xff\xff\xff", 4, MSG_NOSIGNAL);
  }
  const auto relay = listener_->accept(task_of(), 1, 0.1);
  ASSERT_FALSE(relay);
  EXPECT_EQ(relay.error().code, Code::kDeadlineExceeded);
  const std::string expected = "listen on " + address_ +
                               ": 0 of 1 peers came within 0.1 s; 1 connections were refused, the "
                               "last from 127.0.0.1:";
  EXPECT_EQ(relay.error().message.substr(0, expected.size()), expected);
}

TEST_F(TcpGroupTest, AListenerServesOneRunAfterTheOther) {
  pair();
  auto [member, relay] = pair();
  auto other = std::async(std::launch::async, [&group = relay] { return group->barrier(kLong); });
  EXPECT_TRUE(member->barrier(kLong));
  EXPECT_TRUE(other.get());
}

TEST_F(TcpGroupTest, APeerThatLeavesEndsTheOthersExchange) {
  {
    auto [member, relay] = pair();
    member.reset();
    const auto all = relay->exchange("x", kLong);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, Code::kUnavailable);
    EXPECT_EQ(all.error().message.find("peer 127.0.0.1:"), 0U);
    EXPECT_NE(all.error().message.find(" closed the connection"), std::string::npos);
    EXPECT_EQ(relay->exchange("x", kLong).error().message, "the group ended with an earlier error");
  }
  auto [member, relay] = pair();
  relay.reset();
  EXPECT_EQ(member->exchange("x", kLong).error().message,
            "peer " + address_ + " closed the connection");
}

TEST_F(TcpGroupTest, APeerThatIsKilledEndsTheOthersExchange) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto group = join_tcp_group(address_, task_of(), kLong);
    raise(group ? SIGKILL : SIGABRT);
  }
  auto relay = listener_->accept(task_of(), 1, kLong);
  ASSERT_TRUE(relay) << relay.error().message;
  const auto all = (*relay)->exchange("x", kLong);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kUnavailable);
}

TEST_F(TcpGroupTest, ASilentPeerIsLateNotGone) {
  auto [member, relay] = pair();
  const auto all = relay->exchange("x", 0.05);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kDeadlineExceeded);
  EXPECT_NE(all.error().message.find("(rank 0) did not answer in time"), std::string::npos);
  EXPECT_EQ(member->exchange("x", kLong).error().code, Code::kUnavailable)
      << "the relay has left, and the member learns it at once";
}

TEST_F(TcpGroupTest, OfThreeTheOneThatLeftAfterItsPayloadEndsTheStep) {
  auto first = join(task_of(3));
  auto second = join(task_of(3));
  auto relay = listener_->accept(task_of(3), 2, kLong);
  ASSERT_TRUE(relay);
  auto leaves = first.get();
  auto silent = second.get();
  ASSERT_TRUE(leaves && silent);
  EXPECT_EQ((*leaves)->exchange("x", 0).error().code, Code::kDeadlineExceeded);  // sends, then goes
  const auto all = (*relay)->exchange("x", kLong);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kUnavailable);
}

TEST_F(TcpGroupTest, AMemberThatSendsGarbageEndsTheStep) {
  FrameStream bad(stranger(), listener_->address());
  Started greeting = task_of();
  (*greeting.mutable_facts())["railgauge_group"] = "1";
  const double deadline_ns = monotonic_now_ns() + 10e9;
  ASSERT_TRUE(bad.send(greeting, deadline_ns));
  auto relay = listener_->accept(task_of(), 1, kLong);
  ASSERT_TRUE(relay);
  GroupStep wrong;
  wrong.set_step(7);
  wrong.add_payloads("x");
  ASSERT_TRUE(bad.send(wrong, deadline_ns));
  const auto all = (*relay)->exchange("x", kLong);
  ASSERT_FALSE(all);
  EXPECT_NE(all.error().message.find("is at step 7, this side at step 0"), std::string::npos);
}

TEST_F(TcpGroupTest, AListenerThatIsNoRailgaugeIsNamed) {
  const Fd other = tcp_listen({"127.0.0.1", 0}).value();
  const TcpAddress where = local_address(other);
  auto joining = std::async(std::launch::async,
                            [&] { return join_tcp_group(to_string(where), task_of(), kLong); });
  Fd client;
  while (!client) client = std::move(tcp_accept(other).value().socket);
  (void)::send(client.get(), "\x03xyz", 4, MSG_NOSIGNAL);
  EXPECT_EQ(joining.get().error().message, to_string(where) + " is no Railgauge listener");
}

}  // namespace
}  // namespace railgauge

#include "kernels/core/group/relay_group.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "kernels/core/group/framing.h"

namespace railgauge {
namespace {

constexpr double kLong = 20;  // seconds; a test that waits so long has failed
constexpr double kShort = 0.02;

struct Pipe {
  Pipe() {
    int fds[2];
    RG_CHECK(::pipe2(fds, O_CLOEXEC) == 0);
    read_end = fds[0];
    write_end = fds[1];
  }
  ~Pipe() {
    ::close(read_end);
    close_write_end();
  }
  void close_write_end() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
  int read_end = -1;
  int write_end = -1;
};

// The agent's side of both pipes, driven by the test.
class RelayTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::signal(SIGPIPE, SIG_IGN), SIG_ERR); }
  void tell(const ToRunner& message) {
    ASSERT_TRUE(write_all(requests_.write_end, frame(message), kLong));
  }
  void tell_step(std::uint32_t number, const std::vector<std::string>& payloads) {
    ToRunner message;
    message.mutable_step()->set_step(number);
    for (const std::string& payload : payloads) message.mutable_step()->add_payloads(payload);
    tell(message);
  }
  FromRunner hear() {
    for (;;) {
      auto next = heard_.next();
      RG_CHECK(next.has_value());
      FromRunner message;
      if (*next) {
        RG_CHECK(message.ParseFromString(**next));
        return message;
      }
      char bytes[4096];
      const ssize_t got = ::read(records_.read_end, bytes, sizeof bytes);
      RG_CHECK(got > 0);
      heard_.feed({bytes, static_cast<std::size_t>(got)});
    }
  }
  Error ended() {
    auto future = ended_.get_future();
    RG_CHECK(future.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
    return future.get();
  }

  Pipe requests_;
  Pipe records_;
  FrameReader heard_;
  std::promise<Error> ended_;
  RelayChannel channel_{requests_.read_end, records_.write_end,
                        [this](const Error& error) { ended_.set_value(error); }};
};

TEST_F(RelayTest, TakesItsRequestThenGo) {
  ToRunner request;
  request.mutable_request()->set_kernel("a.b");
  tell(request);
  const auto got = channel_.wait_request(kLong);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kernel(), "a.b");
  EXPECT_EQ(channel_.wait_go(kShort).error().code, Code::kDeadlineExceeded);
  ToRunner go;
  go.mutable_go();
  tell(go);
  EXPECT_TRUE(channel_.wait_go(kLong));
}

TEST_F(RelayTest, ExchangesStepAfterStepInRankOrder) {
  RelayGroup group(channel_, 1, 3);
  for (std::uint32_t number = 0; number < 3; ++number) {
    auto exchanged = std::async(std::launch::async, [&] { return group.exchange("mine", kLong); });
    const FromRunner up = hear();
    EXPECT_EQ(up.step().step(), number);
    ASSERT_EQ(up.step().payloads_size(), 1);
    EXPECT_EQ(up.step().payloads(0), "mine");
    tell_step(number, {"zero", "mine", "two"});
    const auto all = exchanged.get();
    ASSERT_TRUE(all);
    EXPECT_EQ(*all, (std::vector<std::string>{"zero", "mine", "two"}));
  }
}

TEST_F(RelayTest, GathersForRankZeroAndHearsBrieflyOnTheOthers) {
  for (const std::uint32_t rank : {0U, 2U}) {
    RelayGroup group(channel_, rank, 4);
    group.set_place("meeting");
    auto gathered = std::async(
        std::launch::async, [&] { return group.gather("mine", Group::Loudness::kCause, kLong); });
    const FromRunner up = hear();
    EXPECT_EQ(up.step().brief(), rank != 0);
    EXPECT_EQ(up.step().loudness(), 2U);
    EXPECT_EQ(up.step().at(), "meeting");
    EXPECT_EQ(up.step().payloads(0), "mine");
    ToRunner answer;
    answer.mutable_step()->add_ranks(3);
    answer.mutable_step()->add_payloads("three");
    tell(answer);
    const auto all = gathered.get();
    ASSERT_TRUE(all);
    EXPECT_EQ(*all, (std::vector<std::string>{"", "", "", "three"}));
  }
}

TEST_F(RelayTest, AStepThatNeverComesEndsAtItsDeadline) {
  RelayGroup group(channel_, 0, 2);
  const auto all = group.exchange("", kShort);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Code::kDeadlineExceeded);
}

TEST_F(RelayTest, AStepOfTheWrongNumberOrSizeIsAnError) {
  RelayGroup group(channel_, 0, 2);
  tell_step(5, {"", ""});
  EXPECT_EQ(group.exchange("", kLong).error().message, "rendezvous: step 5 came for step 0");
  tell_step(0, {"only one"});
  EXPECT_EQ(group.exchange("", kLong).error().message,
            "rendezvous: step 0 has 1 payloads for 2 ranks");
}

TEST_F(RelayTest, ACancelWakesTheWaitAndIsTold) {
  RelayGroup group(channel_, 0, 2);
  auto exchanged = std::async(std::launch::async, [&] { return group.exchange("", kLong); });
  hear();
  ToRunner cancel;
  cancel.mutable_cancel()->set_reason("somebody pressed Ctrl-C");
  tell(cancel);
  EXPECT_EQ(exchanged.get().error().code, Code::kCancelled);
  EXPECT_EQ(ended().message, "somebody pressed Ctrl-C");
}

TEST_F(RelayTest, AnAgentThatIsGoneIsToldAndEndsEveryWait) {
  requests_.close_write_end();
  EXPECT_EQ(ended().code, Code::kUnavailable);
  EXPECT_EQ(channel_.wait_go(kLong).error().code, Code::kUnavailable);
}

TEST_F(RelayTest, GarbageEndsTheChannelAsDataLoss) {
  ASSERT_TRUE(write_all(requests_.write_end, "\xff\xff\xff\xff\xff\xff", kLong));
  EXPECT_EQ(ended().code, Code::kDataLoss);
}

TEST_F(RelayTest, ASecondStepBeforeTheFirstWasTakenIsRefused) {
  tell_step(0, {"", ""});
  tell_step(1, {"", ""});
  EXPECT_EQ(ended().code, Code::kDataLoss);
}

TEST_F(RelayTest, SendingToAnAgentThatIsGoneFailsInsteadOfKilling) {
  ::close(records_.read_end);
  records_.read_end = -1;
  FromRunner message;
  message.mutable_prepared();
  EXPECT_EQ(channel_.send(message).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace railgauge

#include "controller/relay/passage.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/relay/frame_testing.h"

namespace railgauge::relay {
namespace {

using testing::HasSubstr;
using Next = Passage::Next;

std::pair<Fd, Fd> make_pair() {
  std::array<int, 2> raw{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, raw.data()), 0);
  return {Fd(raw[0]), Fd(raw[1])};
}

// Sends what the socket takes; returns the bytes.
std::size_t send_some(const Fd& to, std::span<const std::uint8_t> bytes) {
  const ssize_t sent = ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}
void send_all(const Fd& to, const FrameBytes& bytes) {
  EXPECT_EQ(send_some(to, bytes), bytes.size());
}
// All that has come; `ended` reports the end of the connection.
FrameBytes receive_all(const Fd& from, bool* ended = nullptr) {
  FrameBytes all;
  std::array<std::uint8_t, 4096> some{};
  while (true) {
    const ssize_t size = ::recv(from.get(), some.data(), some.size(), 0);
    if (size <= 0) {
      if (ended != nullptr) *ended = size == 0;
      return all;
    }
    all.insert(all.end(), some.begin(), some.begin() + size);
  }
}

// A plain connection: client_ <-> passage_ <-> grpc_.
class PassageTest : public testing::Test {
 protected:
  PassageTest() : PassageTest(make_pair()) {}
  explicit PassageTest(std::pair<Fd, Fd> outer)
      : client_(std::move(outer.first)), passage_(std::move(outer.second), nullptr, 0) {}

  // Turns until nothing more can be done at that time.
  Next settle(double now) {
    Next next = passage_.turn(now);
    while (next == Next::kAgain) next = passage_.turn(now);
    return next;
  }
  void greet() {
    ASSERT_EQ(passage_.turn(0), Next::kKnown);
    passage_.admit(allowance_);
    send_all(client_, bytes_of(kTestPreface));
    ASSERT_EQ(passage_.turn(0), Next::kIntroduce);
    auto inner = make_pair();
    grpc_ = std::move(inner.first);
    passage_.open(std::move(inner.second));
    ASSERT_EQ(settle(0), Next::kWait);
    ASSERT_EQ(receive_all(grpc_), bytes_of(kTestPreface));
  }

  Fd client_;
  Fd grpc_;
  std::shared_ptr<Allowance> allowance_ = std::make_shared<Allowance>(0);
  Passage passage_;
};

TEST_F(PassageTest, GrpcIsNotThereBeforeAWholePreface) {
  ASSERT_EQ(passage_.turn(0), Next::kKnown);
  passage_.admit(allowance_);
  send_all(client_, bytes_of(kTestPreface.substr(0, 23)));
  EXPECT_EQ(settle(1), Next::kWait);
  EXPECT_EQ(passage_.due(), Passage::kGreetSeconds);
  send_all(client_, bytes_of("\n"));
  EXPECT_EQ(passage_.turn(2), Next::kIntroduce);
}

TEST_F(PassageTest, AClientThatSendsNothingEndsInTime) {
  ASSERT_EQ(passage_.turn(0), Next::kKnown);
  passage_.admit(allowance_);
  EXPECT_EQ(passage_.turn(7.9), Next::kWait);
  EXPECT_EQ(passage_.turn(8), Next::kEnd);
  EXPECT_THAT(passage_.reason(), HasSubstr("in time"));
}

TEST_F(PassageTest, AnotherProtocolEnds) {
  ASSERT_EQ(passage_.turn(0), Next::kKnown);
  passage_.admit(allowance_);
  send_all(client_, bytes_of("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(passage_.turn(0), Next::kEnd);
  EXPECT_THAT(passage_.reason(), HasSubstr("no HTTP/2 preface"));
}

TEST_F(PassageTest, BytesPassBothWaysAsTheyAre) {
  greet();
  const FrameBytes call = joined({frame(kHeadersFrame, 4, 1, 30), frame(kDataFrame, 1, 1, 5'000)});
  send_all(client_, call);
  const FrameBytes answer = joined({frame(kHeadersFrame, 4, 1, 9), frame(kDataFrame, 1, 1, 70)});
  send_all(grpc_, answer);
  EXPECT_EQ(settle(0), Next::kWait);
  EXPECT_EQ(receive_all(grpc_), call);
  EXPECT_EQ(receive_all(client_), answer);
}

TEST_F(PassageTest, AClientThatBreaksARuleEndsAndGrpcNeverSeesTheBytes) {
  greet();
  FrameBytes streams;
  for (std::uint32_t stream = 1; stream <= 259; stream += 2)
    streams = joined({streams, frame(kHeadersFrame, 4, stream, 10)});
  send_all(client_, streams);
  EXPECT_EQ(settle(0), Next::kEnd);
  EXPECT_THAT(passage_.reason(), HasSubstr("129 open streams"));
  EXPECT_TRUE(receive_all(grpc_).empty());
}

// 100,000 streams that are reset at once: gRPC gets those of the allowance, and the client waits.
TEST_F(PassageTest, AFloodOfResetsReachesGrpcAtTheAllowancesRate) {
  greet();
  std::uint32_t stream = 1;
  FrameBytes waiting;
  std::size_t passed = 0;
  for (double now = 0; now < 5; now += 0.01) {
    for (int i = 0; i < 100 && waiting.size() < 100'000; ++i, stream += 2)
      waiting =
          joined({waiting, frame(kHeadersFrame, 4, stream, 20), frame(kResetFrame, 0, stream, 4)});
    waiting.erase(waiting.begin(),
                  waiting.begin() + static_cast<std::ptrdiff_t>(send_some(client_, waiting)));
    ASSERT_EQ(settle(now), Next::kWait);
    passed += receive_all(grpc_).size();
  }
  constexpr std::size_t kBytesOfAStream = 29 + 13;
  constexpr double kWorkOfAStream = 122;
  const double most = (Allowance::kMost + 5 * Allowance::kRate) / kWorkOfAStream +
                      static_cast<double>(Passage::kChunkBytes) / kBytesOfAStream;
  const double streams = static_cast<double>(passed) / kBytesOfAStream;
  EXPECT_LT(streams, most);
  EXPECT_GT(streams, most * 0.8);
  EXPECT_GT(passage_.take_pauses(), 10U);
  EXPECT_EQ(passage_.take_pauses(), 0U);
  EXPECT_LT(passage_.due(), 6);
}

TEST_F(PassageTest, AnotherConnectionOfThePeerSpendsTheSameAllowance) {
  greet();
  allowance_->take(static_cast<std::uint32_t>(Allowance::kMost + Allowance::kRate), 0);
  send_all(client_, frame(kPingFrame, 0, 0, 8));
  EXPECT_EQ(settle(0), Next::kWait);
  EXPECT_TRUE(receive_all(grpc_).empty());
  EXPECT_EQ(settle(0.5), Next::kWait);
  EXPECT_TRUE(receive_all(grpc_).empty());
  EXPECT_EQ(settle(passage_.due() + 0.01), Next::kWait);
  EXPECT_EQ(receive_all(grpc_).size(), 17U);
}

// The preface of a new connection has to wait too, else connections would be a way around.
TEST_F(PassageTest, APeerInDebtIsNotIntroduced) {
  ASSERT_EQ(passage_.turn(0), Next::kKnown);
  allowance_->take(static_cast<std::uint32_t>(Allowance::kMost + Allowance::kRate), 0);
  passage_.admit(allowance_);
  send_all(client_, bytes_of(kTestPreface));
  EXPECT_EQ(settle(0), Next::kWait);
  EXPECT_DOUBLE_EQ(passage_.due(), 1);
  EXPECT_EQ(passage_.turn(1.01), Next::kIntroduce);
}

// Another connection of the peer has all but 100 kB of what it may.
TEST_F(PassageTest, MessagesWithoutAnEndHaveABoundForAllConnectionsOfThePeer) {
  greet();
  EXPECT_TRUE(allowance_->change_unfinished(0, Allowance::kMostUnfinishedBytes - 100'000));
  FrameBytes bytes = joined({frame(kHeadersFrame, 4, 1, 10), frame(kDataFrame, 0, 1, 16'000)});
  bytes[9 + 10 + 9] = 0;  // flags and length of a message of 16 MB
  bytes[9 + 10 + 9 + 1] = 1;
  Next next = Next::kWait;
  for (int i = 0; i < 10 && next == Next::kWait; ++i) {
    send_all(client_, i == 0 ? bytes : frame(kDataFrame, 0, 1, 16'000));
    next = settle(i);
    receive_all(grpc_);
  }
  EXPECT_EQ(next, Next::kEnd);
  EXPECT_THAT(passage_.reason(), HasSubstr("messages without an end beyond 64 MiB"));
}

TEST_F(PassageTest, APausedClientThatIsGoneEnds) {
  greet();
  allowance_->take(static_cast<std::uint32_t>(Allowance::kMost + 100 * Allowance::kRate), 0);
  EXPECT_EQ(settle(1), Next::kWait);
  client_.reset();
  EXPECT_EQ(settle(1), Next::kWait) << "nothing is read";
  passage_.hang_up();
  EXPECT_EQ(settle(1), Next::kEnd);
}

// gRPC takes nothing: the passage reads no more than it can keep, and loses nothing.
TEST_F(PassageTest, AGrpcThatTakesNothingHoldsTheClientUp) {
  greet();
  FrameBytes sent;
  FrameBytes waiting;
  const auto push = [&] {
    const std::size_t size = send_some(client_, waiting);
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(size));
    return size;
  };
  for (int i = 0; i < 1'000; ++i) {
    const FrameBytes data = frame(kDataFrame, 0, 1, 1'000 + static_cast<std::size_t>(i));
    sent = joined({sent, data});
    waiting = joined({waiting, data});
    while (!waiting.empty() && push() > 0) settle(0);
  }
  ASSERT_GT(waiting.size(), 100'000U) << "the client must have been held up";
  FrameBytes got;
  while (got.size() < sent.size()) {
    const FrameBytes some = receive_all(grpc_);
    const std::size_t pushed = push();
    settle(0);
    got.insert(got.end(), some.begin(), some.end());
    ASSERT_FALSE(some.empty() && pushed == 0 && receive_all(grpc_).empty()) << got.size();
  }
  EXPECT_EQ(got, sent);
}

TEST_F(PassageTest, AClientThatTakesNothingEndsAfterAWhile) {
  greet();
  const FrameBytes data = frame(kDataFrame, 0, 1, 16'000);
  while (send_some(grpc_, data) == data.size()) settle(1);
  while (settle(1) != Next::kWait) {
  }
  EXPECT_EQ(passage_.due(), 1 + Passage::kStallSeconds);
  EXPECT_EQ(settle(30), Next::kWait);
  EXPECT_EQ(settle(31), Next::kEnd);
  EXPECT_THAT(passage_.reason(), HasSubstr("takes less than 16 KiB in 30 s"));
}

// The socket takes two KiB at a time, so that gRPC's bytes leave in parts.
TEST_F(PassageTest, AClientThatTakesAHundredBytesASecondEndsAsSoon) {
  greet();
  const int small = 4'096;
  ASSERT_EQ(::setsockopt(passage_.outer(), SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
  const FrameBytes data = frame(kDataFrame, 0, 1, 16'000);
  while (send_some(grpc_, data) == data.size()) settle(1);
  while (settle(1) != Next::kWait) {
  }
  Next next = Next::kWait;
  double now = 1;
  for (; next != Next::kEnd && now < 100; ++now) {
    std::array<std::uint8_t, 100> some{};
    static_cast<void>(::recv(client_.get(), some.data(), some.size(), MSG_DONTWAIT));
    next = settle(now);
  }
  EXPECT_EQ(next, Next::kEnd);
  EXPECT_LE(now, 2 + Passage::kStallSeconds + 1);
}

TEST_F(PassageTest, TheLastBytesOfGrpcReachTheClient) {
  greet();
  const FrameBytes last = joined({frame(kDataFrame, 1, 1, 100), frame(kGoawayFrame, 0, 0, 8)});
  send_all(grpc_, last);
  grpc_.reset();
  send_all(client_, frame(kPingFrame, 0, 0, 8));  // nobody takes it
  EXPECT_EQ(settle(0), Next::kEnd);
  EXPECT_EQ(passage_.reason(), "");
  bool ended = false;
  EXPECT_EQ(receive_all(client_, &ended), last);
  EXPECT_TRUE(ended);
}

TEST_F(PassageTest, TheClientsEndEndsIt) {
  greet();
  send_all(client_, frame(kPingFrame, 0, 0, 8));
  client_.reset();
  EXPECT_EQ(settle(0), Next::kEnd);
  EXPECT_EQ(receive_all(grpc_).size(), 17U);
}

}  // namespace
}  // namespace railgauge::relay

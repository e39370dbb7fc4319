// The threads of the relay, over real sockets, with a plain peer and a server that echoes.
#include "controller/relay/relay.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/relay/frame_testing.h"

namespace railgauge::relay {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;
using testing::StartsWith;

std::pair<Fd, Fd> connected() {
  std::array<int, 2> raw{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, raw.data()), 0);
  return {Fd(raw[0]), Fd(raw[1])};
}

// Passes when the condition holds within 20 s.
template <class Condition>
bool in_time(Condition condition) {
  for (int i = 0; i < 2'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool is_open(const Fd& socket) {
  char byte = 0;
  const ssize_t size = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return size > 0 || (size < 0 && errno == EAGAIN);
}

bool is_closed(const Fd& socket) {
  return in_time([&] { return !is_open(socket); });
}

class RelayTest : public testing::Test {
 protected:
  void SetUp() override {
    Relay::Options options;
    options.make_pair = [this](std::uint64_t /*connection*/,
                               const std::string& /*party*/) -> Result<std::pair<Fd, Fd>> {
      if (!has_room_) return fail(Code::kResourceExhausted, "no room");
      return connected();
    };
    options.introduce = [this](const std::string& name, Visitor visitor, Fd theirs) {
      const std::lock_guard lock(mutex_);
      names_.push_back(name);
      visitors_.push_back(std::move(visitor));
      grpc_[name] = std::move(theirs);
    };
    options.leave = [this](const std::string& name) {
      const std::lock_guard lock(mutex_);
      left_.push_back(name);
    };
    auto started = Relay::start(std::move(options));
    ASSERT_TRUE(started);
    relay_ = std::move(*started);
  }
  // A client from 192.0.2.HOST.
  Fd connect(std::uint8_t host = 1) {
    auto pair = connected();
    sockaddr_storage peer{};
    auto& address = reinterpret_cast<sockaddr_in&>(peer);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0xC0000200U + host);
    address.sin_port = htons(static_cast<std::uint16_t>(1'000 + next_));
    relay_->take(std::move(pair.second), next_++, peer);
    return std::move(pair.first);
  }
  static void send(const Fd& to, const FrameBytes& bytes) {
    EXPECT_EQ(::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // A client that is through, with the name that gRPC has for it.
  std::pair<Fd, std::string> greet(std::uint8_t host = 1) {
    const std::size_t before = count();
    Fd client = connect(host);
    send(client, bytes_of(kTestPreface));
    EXPECT_TRUE(in_time([&] { return count() > before; }));
    const std::lock_guard lock(mutex_);
    return {std::move(client), names_.back()};
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return names_.size();
  }
  // Bytes that gRPC's end of a connection gets, until there are `size`.
  std::size_t grpc_gets(const std::string& name, std::size_t size) {
    std::size_t got = 0;
    std::array<char, 65'536> buffer{};
    in_time([&] {
      const ssize_t some = ::recv(grpc(name).get(), buffer.data(), buffer.size(), 0);
      got += some > 0 ? static_cast<std::size_t>(some) : 0;
      return got >= size;
    });
    return got;
  }
  // gRPC's end. Others may come meanwhile, which moves no entry of the map.
  const Fd& grpc(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return grpc_.at(name);
  }
  void close_grpc(const std::string& name) {
    const std::lock_guard lock(mutex_);
    grpc_.erase(name);
  }
  bool has_left(const std::string& name) {
    return in_time([&] {
      const std::lock_guard lock(mutex_);
      return std::ranges::find(left_, name) != left_.end();
    });
  }

  std::mutex mutex_;
  std::atomic<bool> has_room_ = true;
  std::uint64_t next_ = 1;
  std::vector<std::string> names_;
  std::vector<Visitor> visitors_;
  std::map<std::string, Fd> grpc_;
  std::vector<std::string> left_;
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, EachConnectionHasItsNameWhichGrpcSeesAsThePeersAddress) {
  const auto [first, first_name] = greet(1);
  const auto [second, second_name] = greet(2);
  EXPECT_NE(first_name, second_name);
  EXPECT_EQ(visitors_[0].address, "ipv4:192.0.2.1:1001");
  EXPECT_EQ(visitors_[0].connection, 1U);
  EXPECT_FALSE(visitors_[0].certificate.has_value());
  sockaddr_un peer{};
  socklen_t size = sizeof(peer);
  ASSERT_EQ(::getpeername(grpc(first_name).get(), reinterpret_cast<sockaddr*>(&peer), &size), 0);
  const std::string seen(peer.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
  EXPECT_EQ("unix-abstract:" + seen, first_name);
  EXPECT_THAT(first_name, StartsWith("unix-abstract:railgauge-"));
}

TEST_F(RelayTest, BytesPassAndEitherEndEndsBoth) {
  auto [greeted, name] = greet();
  const auto& client = greeted;
  EXPECT_EQ(grpc_gets(name, 24), 24U);
  send(client, frame(kHeadersFrame, 4, 1, 40));
  EXPECT_EQ(grpc_gets(name, 49), 49U);
  send(grpc(name), frame(kDataFrame, 1, 1, 10));
  std::array<char, 64> answer{};
  EXPECT_TRUE(in_time([&] { return ::recv(client.get(), answer.data(), 64, 0) == 19; }));
  EXPECT_EQ(relay_->counts().open, 1U);
  close_grpc(name);
  EXPECT_TRUE(has_left(name));
  EXPECT_TRUE(is_closed(client));
  auto [other, other_name] = greet();
  other.reset();
  EXPECT_TRUE(has_left(other_name));
  EXPECT_TRUE(in_time([&] { return relay_->counts().open == 0; }));
  EXPECT_EQ(relay_->counts().broken, 0U);
}

TEST_F(RelayTest, AClientThatBreaksARuleEndsAndIsCounted) {
  auto [client, name] = greet();
  send(client, frame(kPushFrame, 4, 1, 10));
  EXPECT_TRUE(has_left(name));
  EXPECT_TRUE(is_closed(client));
  EXPECT_EQ(relay_->counts().broken, 1U);
  const Fd stranger = connect();
  send(stranger, bytes_of("\x16\x03\x01 no HTTP/2"));
  EXPECT_TRUE(is_closed(stranger));
  EXPECT_EQ(count(), 1U);
}

// A flood by four connections of one source: each waits for the same allowance, while another
// source's frames pass.
TEST_F(RelayTest, AFloodSlowsItsSourceAlone) {
  std::vector<std::pair<Fd, std::string>> floods;
  for (int i = 0; i < 4; ++i) floods.push_back(greet(1));
  std::atomic<bool> ending = false;
  std::thread flood([&] {
    std::uint32_t stream = 1;
    while (!ending) {
      FrameBytes some;
      for (int i = 0; i < 100; ++i, stream += 2)
        some =
            joined({some, frame(kHeadersFrame, 4, stream, 20), frame(kResetFrame, 0, stream, 4)});
      for (auto& [client, name] : floods)  // whole, so that the frames stay frames
        for (std::size_t at = 0; at < some.size() && !ending;) {
          const ssize_t sent =
              ::send(client.get(), some.data() + at, some.size() - at, MSG_NOSIGNAL);
          if (sent > 0) at += static_cast<std::size_t>(sent);
          pollfd writable{client.get(), POLLOUT, 0};
          if (sent <= 0) ::poll(&writable, 1, 10);
        }
    }
  });
  std::thread drain([&] {
    std::array<char, 65'536> buffer{};
    while (!ending)
      for (auto& [client, name] : floods)
        ::recv(grpc(name).get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  });
  EXPECT_TRUE(in_time([&] { return relay_->counts().paused > 5; }));
  auto [client, name] = greet(2);
  EXPECT_EQ(grpc_gets(name, 24), 24U);
  for (std::uint32_t stream = 1; stream < 100; stream += 2) {
    send(client, joined({frame(kHeadersFrame, 4, stream, 20), frame(kResetFrame, 0, stream, 4)}));
    EXPECT_EQ(grpc_gets(name, 42), 42U);
  }
  ending = true;
  flood.join();
  drain.join();
}

TEST_F(RelayTest, WithoutRoomForAPairTheConnectionEnds) {
  has_room_ = false;
  const Fd client = connect();
  send(client, bytes_of(kTestPreface));
  EXPECT_TRUE(is_closed(client));
  EXPECT_EQ(count(), 0U);
}

TEST_F(RelayTest, AfterCloseNobodyIsIntroducedAndStopPassesTheLastBytes) {
  auto [client, name] = greet();
  relay_->close();
  const Fd late = connect();
  send(late, bytes_of(kTestPreface));
  EXPECT_TRUE(is_closed(late));
  EXPECT_EQ(count(), 1U);
  send(grpc(name), frame(kGoawayFrame, 0, 0, 8));
  close_grpc(name);
  relay_->stop();
  std::array<char, 64> last{};
  EXPECT_EQ(::recv(client.get(), last.data(), last.size(), 0), 17);
  EXPECT_THAT(left_, SizeIs(1));
}

TEST_F(RelayTest, ManyConnectionsComeAndGo) {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::pair<Fd, std::string>> clients;
    for (int i = 0; i < 100; ++i) clients.push_back(greet(static_cast<std::uint8_t>(i)));
    EXPECT_EQ(relay_->counts().open, 100U);
    for (auto& [client, name] : clients) {
      send(client, frame(kPingFrame, 0, 0, 8));
      EXPECT_EQ(grpc_gets(name, 24 + 17), 24U + 17U);
    }
    clients.clear();
    EXPECT_TRUE(in_time([&] { return relay_->counts().open == 0; }));
  }
  EXPECT_THAT(left_, SizeIs(500));
}

}  // namespace
}  // namespace railgauge::relay

// The accept loop itself on loopback, also with few descriptors, in a process of its own.
#include "controller/listen/tcp_listener.h"

#include <fcntl.h>

#include <chrono>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/listen/sockets.h"
#include "controller/testing/tcp_client.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_listen::client_hello;
using testing_listen::connect_from;
using testing_listen::is_closed_soon;
using testing_listen::is_open;
using testing_listen::send_text;
using Protocol = TcpListener::Protocol;

// A listener that keeps what it hands over, as gRPC would.
class Port {
 public:
  explicit Port(Protocol protocol = Protocol::kTls, const std::string& host = "127.0.0.1") {
    auto opened = TcpListener::open("listen", {.host = host, .port = 0}, protocol);
    EXPECT_TRUE(opened) << opened.error().message;
    listener_ = std::move(*opened);
    listener_->start([this](Fd connection, std::uint64_t /*id*/, const sockaddr_storage& /*peer*/) {
      const std::lock_guard lock(mutex_);
      taken_.push_back(std::move(connection));
    });
  }
  ~Port() { listener_->stop(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] TcpListener& listener() const { return *listener_; }
  [[nodiscard]] int number() const { return listener_->port(); }
  template <class Condition>
  static bool comes(Condition condition) {
    constexpr int kLooks = 2'000;
    for (int look = 0; look < kLooks && !condition(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  }
  bool takes(std::size_t count) {
    return comes([&] {
      const std::lock_guard lock(mutex_);
      return taken_.size() == count;
    });
  }
  bool waits(std::uint64_t count) {
    return comes([&] { return listener_->counts().waiting == count; });
  }
  // The bytes that the receiver of the connection finds.
  std::string bytes_of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    std::string bytes(65'536, '\0');
    const ssize_t size = ::recv(taken_.at(index).get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return bytes;
  }

 private:
  std::unique_ptr<TcpListener> listener_;
  std::mutex mutex_;
  std::vector<Fd> taken_;
};

TEST(TcpListener, HandsAConnectionOverWithItsWholeHelloAndNotOneByteEarlier) {
  Port port;
  const Fd client = connect_from(port.number());
  const std::string hello = client_hello();
  for (const char byte : hello.substr(0, hello.size() - 1)) send_text(client, {&byte, 1});
  ASSERT_TRUE(port.waits(1));
  EXPECT_EQ(port.listener().counts().accepted, 0U);
  send_text(client, hello.substr(hello.size() - 1));
  ASSERT_TRUE(port.takes(1));
  EXPECT_EQ(port.bytes_of(0), hello);
  EXPECT_EQ(port.listener().counts().waiting, 0U);
}

TEST(TcpListener, WithoutTlsItWaitsForThePreface) {
  Port port(Protocol::kPlain);
  const Fd silent = connect_from(port.number());
  const Fd client = connect_from(port.number());
  send_text(client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  ASSERT_TRUE(port.takes(1));
  ASSERT_TRUE(port.waits(1));
  EXPECT_TRUE(is_open(silent));
}

TEST(TcpListener, AnotherProtocolIsRefusedAtOnce) {
  Port port;
  const Fd client = connect_from(port.number());
  send_text(client, "GET / HTTP/1.1\r\n");
  EXPECT_TRUE(is_closed_soon(client));
  EXPECT_EQ(port.listener().counts().refused, 1U);
}

TEST(TcpListener, APeerThatLeavesFreesItsPlaceAlsoInTheMiddleOfItsHello) {
  Port port;
  Fd silent = connect_from(port.number());
  Fd half = connect_from(port.number());
  send_text(half, client_hello().substr(0, 50));
  ASSERT_TRUE(port.waits(2));
  silent.reset();
  half.reset();
  EXPECT_TRUE(port.waits(0));
  EXPECT_EQ(port.listener().counts().left, 2U);
}

TEST(TcpListener, AFloodOfOneSourceClosesItsOwnOldestAndNobodyElses) {
  Port port;
  const Fd honest = connect_from(port.number(), "127.0.0.2");
  ASSERT_TRUE(port.waits(1));
  std::vector<Fd> flood;
  for (std::size_t i = 0; i < TcpListener::kMostWaitingOfASource + 10; ++i)
    flood.push_back(connect_from(port.number(), "127.0.0.3"));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(is_closed_soon(flood[i])) << i;
  ASSERT_TRUE(port.waits(TcpListener::kMostWaitingOfASource + 1));
  EXPECT_TRUE(is_open(flood.back()));
  EXPECT_EQ(port.listener().counts().shed, 10U);
  send_text(honest, client_hello());
  EXPECT_TRUE(port.takes(1));
}

TEST(TcpListener, ATakenPortAndAForeignAddressAreOneLineEach) {
  const Port port;
  const auto second =
      TcpListener::open("listen", {.host = "127.0.0.1", .port = port.number()}, Protocol::kTls);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_THAT(second.error().message, HasSubstr("--listen 127.0.0.1:"));
  EXPECT_THAT(second.error().message, HasSubstr("the port is taken"));
  const auto foreign =
      TcpListener::open("listen", {.host = "192.0.2.1", .port = 0}, Protocol::kTls);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("the address is not this host's"));
  const auto unknown =
      TcpListener::open("listen", {.host = "no-such-host.invalid", .port = 0}, Protocol::kTls);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("--listen no-such-host.invalid"));
}

TEST(TcpListener, EveryAddressTakesBothFamilies) {
  Port port(Protocol::kTls, "0.0.0.0");
  const Fd ipv4 = connect_from(port.number());
  ASSERT_TRUE(port.waits(1));
  sockaddr_in6 server{};
  server.sin6_family = AF_INET6;
  server.sin6_addr = in6addr_loopback;
  server.sin6_port = htons(static_cast<std::uint16_t>(port.number()));
  const Fd ipv6(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!ipv6 || ::connect(ipv6.get(), reinterpret_cast<sockaddr*>(&server), sizeof(server)) != 0)
    GTEST_SKIP() << "no IPv6 loopback here: " << std::strerror(errno);
  EXPECT_TRUE(port.waits(2));
}

// Ends the listening socket behind the loop's back, as nothing should.
TEST(TcpListener, ASocketThatDoesNotAcceptIsReportedInOneLine) {
  const Port port;
  EXPECT_EQ(port.listener().trouble(), "");
  for (int fd = 0; fd < 1'024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        ntohs(address.sin_port) == port.number())
      ::shutdown(fd, SHUT_RDWR);
  }
  ASSERT_TRUE(Port::comes([&] { return !port.listener().trouble().empty(); }));
  EXPECT_THAT(port.listener().trouble(), HasSubstr("accept: Invalid argument"));
}

// --- few descriptors: each in a process of its own
// ------------------------------------------------

void limit_descriptors(rlim_t limit) {
  const rlimit files{.rlim_cur = limit, .rlim_max = limit};
  RG_CHECK(::setrlimit(RLIMIT_NOFILE, &files) == 0);
}

// Clients and port share one process and its limit.
class FewDescriptors : public testing::Test {
 protected:
  static void SetUpTestSuite() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#define CHECK_HERE(condition)                           \
  do {                                                  \
    if (!(condition)) {                                 \
      std::fprintf(stderr, "failed: %s\n", #condition); \
      std::_Exit(1);                                    \
    }                                                   \
  } while (false)

// The limit of 600 keeps 150 from TCP, which ends at 450. Descriptors of others reach 380, and two
// sources stay below the bound of one.
void fill_with_waiting_ones() {
  limit_descriptors(600);
  Port port;
  std::vector<Fd> held;  // descriptors of others, so that few are left
  while (held.empty() || held.back().get() < 380) held.emplace_back(::open("/dev/null", O_RDONLY));
  std::vector<Fd> clients;
  for (int i = 0; i < 40; ++i)
    clients.push_back(connect_from(port.number(), i % 2 == 0 ? "127.0.0.2" : "127.0.0.3"));
  const Fd honest = connect_from(port.number(), "127.0.0.4");
  send_text(honest, client_hello());
  CHECK_HERE(port.takes(1));
  CHECK_HERE(port.listener().counts().shed > 0);
  CHECK_HERE(port.listener().trouble().empty());
  const Fd of_another(::open("/dev/null", O_RDONLY));
  CHECK_HERE(of_another && of_another.get() < 600);
  clients.clear();
  CHECK_HERE(port.waits(0));
  std::_Exit(0);
}

TEST_F(FewDescriptors, WaitingConnectionsMakeRoomForOneThatSpeaks) {
  EXPECT_EXIT(fill_with_waiting_ones(), testing::ExitedWithCode(0), "");
}

// Everything is taken, the reserve too: the spare descriptor answers, and the port recovers.
void fill_the_table() {
  limit_descriptors(200);
  Port port;
  std::vector<Fd> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
  std::vector<Fd> held;
  while (true) {
    Fd one(::open("/dev/null", O_RDONLY));
    if (!one) break;
    held.push_back(std::move(one));
  }
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<std::uint16_t>(port.number()));
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const Fd& client : clients)
    CHECK_HERE(::connect(client.get(), reinterpret_cast<sockaddr*>(&server), sizeof(server)) == 0);
  for (const Fd& client : clients) CHECK_HERE(is_closed_soon(client));
  CHECK_HERE(port.listener().counts().refused == clients.size());
  held.clear();
  const Fd honest = connect_from(port.number());
  send_text(honest, client_hello());
  CHECK_HERE(port.takes(1));
  CHECK_HERE(port.listener().trouble().empty());
  std::_Exit(0);
}

TEST_F(FewDescriptors, AFullTableRefusesConnectionsAndThePortRecovers) {
  EXPECT_EXIT(fill_the_table(), testing::ExitedWithCode(0), "");
}

// The connections of peers that sent their hello and stall make room too.
void fill_with_stalled_handshakes() {
  limit_descriptors(600);
  Port port;
  std::vector<Fd> held;
  while (held.empty() || held.back().get() < 380) held.emplace_back(::open("/dev/null", O_RDONLY));
  std::vector<Fd> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(connect_from(port.number()));
    send_text(clients.back(), client_hello());
  }
  CHECK_HERE(is_closed_soon(clients.front()));
  CHECK_HERE(port.listener().counts().shed > 0);
  const Fd of_another(::open("/dev/null", O_RDONLY));
  CHECK_HERE(static_cast<bool>(of_another));
  std::_Exit(0);
}

TEST_F(FewDescriptors, StalledHandshakesMakeRoom) {
  EXPECT_EXIT(fill_with_stalled_handshakes(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace railgauge

#include "controller/listen/handed_over.h"

#include <fcntl.h>

#include <vector>

#include <gtest/gtest.h>

#include "controller/listen/sockets.h"
#include "controller/testing/tcp_client.h"

namespace railgauge {
namespace {

using testing_listen::connect_from;
using testing_listen::is_closed_soon;
using testing_listen::is_open;

// Both ends of a loopback connection.
struct Pair {
  Fd client;
  Fd server;
  sockaddr_storage peer{};
  [[nodiscard]] std::uint64_t cookie() const { return cookie_of(server.get()); }
};

class HandedOverTest : public testing::Test {
 protected:
  Pair connect(const char* from = "127.0.0.1") {
    Pair pair;
    pair.client = connect_from(bound_port(listener_), from);
    socklen_t size = sizeof(pair.peer);
    pair.server = Fd(::accept(listener_.get(), reinterpret_cast<sockaddr*>(&pair.peer), &size));
    EXPECT_TRUE(pair.server);
    return pair;
  }
  std::size_t add(HandedOver& all, const Pair& pair, double now = 0) {
    return all.add(pair.server.get(), pair.cookie(), pair.peer, now);
  }
  static void greet(HandedOver& all, const Pair& pair, const std::string& certificate = "") {
    all.begin_greeting(pair.cookie());
    all.end_greeting(pair.cookie(), certificate, 0);
  }
  static Fd listen() {
    auto sockets = listen_on("listen", {.host = "127.0.0.1", .port = 0});
    EXPECT_TRUE(sockets);
    const int flags = ::fcntl(sockets->front().get(), F_GETFL);
    ::fcntl(sockets->front().get(), F_SETFL, flags & ~O_NONBLOCK);
    return std::move(sockets->front());
  }

  Fd listener_ = listen();
};

TEST_F(HandedOverTest, OneThatMadeACallIsNotShedForRoom) {
  HandedOver all;
  const Pair honest = connect();
  const Pair silent = connect();
  add(all, honest);
  add(all, silent);
  greet(all, honest);
  all.note_call(honest.cookie());
  EXPECT_EQ(all.in_handshake(), 1U);
  EXPECT_TRUE(all.shed());
  EXPECT_TRUE(is_closed_soon(silent.client));
  EXPECT_TRUE(is_open(honest.client));
  EXPECT_FALSE(all.shed());
}

TEST_F(HandedOverTest, OneInItsHandshakeIsShedBeforeAnOlderOneThatIsSilentAfterIt) {
  HandedOver all;
  const Pair old = connect();
  add(all, old, 0);
  all.tick(HandedOver::kHandshakeSeconds);
  EXPECT_EQ(all.in_handshake(), 0U);
  const Pair young = connect();
  add(all, young, HandedOver::kHandshakeSeconds);
  EXPECT_TRUE(all.shed());
  EXPECT_TRUE(is_closed_soon(young.client));
  EXPECT_TRUE(is_open(old.client));
  EXPECT_TRUE(all.shed());
  EXPECT_TRUE(is_closed_soon(old.client));
}

TEST_F(HandedOverTest, OverTheBoundOfACertificateItsOldestEndsAndNoOther) {
  HandedOver all(2);
  const Pair other = connect();
  add(all, other);
  greet(all, other, "n2");
  std::vector<Pair> same;
  for (int i = 0; i < 3; ++i) {
    same.push_back(connect());
    add(all, same.back());
    greet(all, same.back(), "n1");
    greet(all, same.back(), "n1");  // counts no second connection
  }
  EXPECT_TRUE(is_closed_soon(same[0].client));
  EXPECT_TRUE(is_open(same[1].client) && is_open(same[2].client) && is_open(other.client));
  EXPECT_EQ(all.ended_by_certificate(), 1U);
}

TEST_F(HandedOverTest, WithoutACertificateConnectionsAreNotBounded) {
  HandedOver all(1);
  std::vector<Pair> pairs;
  for (int i = 0; i < 3; ++i) {
    pairs.push_back(connect());
    add(all, pairs.back());
    greet(all, pairs.back());
    all.note_call(pairs.back().cookie());
  }
  for (const Pair& pair : pairs) EXPECT_TRUE(is_open(pair.client));
}

TEST_F(HandedOverTest, ADescriptorThatIsAnotherSocketNowIsLeftAlone) {
  HandedOver all;
  const Pair gone = connect();
  add(all, gone);
  const Pair later = connect();
  // The number of the first one is the later one's now.
  ASSERT_EQ(::dup3(later.server.get(), gone.server.get(), O_CLOEXEC), gone.server.get());
  EXPECT_FALSE(all.shed());
  EXPECT_TRUE(is_open(later.client));
}

TEST_F(HandedOverTest, ClosedConnectionsAreForgotten) {
  HandedOver all;
  {
    const Pair closed = connect();
    add(all, closed);
  }
  const Pair open = connect();
  add(all, open);
  EXPECT_EQ(all.size(), 2U);
  all.tick(HandedOver::kSweepSeconds);
  EXPECT_EQ(all.size(), 1U);
}

TEST_F(HandedOverTest, OneWhoseHandshakeEndsIsNotClosedForItself) {
  HandedOver all;
  const Pair first = connect();
  const Pair second = connect();
  add(all, first, 0);
  add(all, second, 1);
  all.begin_greeting(second.cookie());
  EXPECT_EQ(all.in_handshake(), 1U);
  EXPECT_TRUE(all.shed());
  EXPECT_FALSE(all.shed());
  EXPECT_TRUE(is_closed_soon(first.client));
  EXPECT_TRUE(is_open(second.client));
  all.end_greeting(second.cookie(), "", 2);
  EXPECT_TRUE(all.shed()) << "it made no call";
  EXPECT_TRUE(is_closed_soon(second.client));
}

// The handshake may end in the moment in which its time ends.
TEST_F(HandedOverTest, OneThatWasSilentInTimeIsEnteredOnce) {
  HandedOver all;
  const Pair late = connect();
  const Pair other = connect();
  add(all, late, 0);
  all.tick(HandedOver::kHandshakeSeconds);
  greet(all, late);
  add(all, other, HandedOver::kHandshakeSeconds);
  all.tick(2 * HandedOver::kHandshakeSeconds);
  EXPECT_TRUE(all.shed());
  EXPECT_TRUE(all.shed());
  EXPECT_FALSE(all.shed());
  all.tick(3 * HandedOver::kHandshakeSeconds);
}

TEST_F(HandedOverTest, OneIsEndedByItsNumberAndOnce) {
  HandedOver all;
  const Pair first = connect();
  const Pair second = connect();
  add(all, first);
  add(all, second);
  EXPECT_TRUE(all.end(first.cookie()));
  EXPECT_TRUE(is_closed_soon(first.client));
  EXPECT_TRUE(is_open(second.client));
  EXPECT_FALSE(all.end(first.cookie()));
  EXPECT_FALSE(all.end(0));
}

TEST(PeerUri, IsTheOneThatGrpcWritesAndASourceIsANetworkOf64BitsInIpv6) {
  sockaddr_storage storage{};
  auto& ipv6 = reinterpret_cast<sockaddr_in6&>(storage);
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(7);
  ASSERT_EQ(::inet_pton(AF_INET6, "2001:db8:1:2:3::9", &ipv6.sin6_addr), 1);
  EXPECT_EQ(peer_uri(storage), "ipv6:%5B2001:db8:1:2:3::9%5D:7");
  EXPECT_EQ(source_of(storage), "2001:db8:1:2::/64");
  ASSERT_EQ(::inet_pton(AF_INET6, "::ffff:192.0.2.9", &ipv6.sin6_addr), 1);
  EXPECT_EQ(peer_uri(storage), "ipv4:192.0.2.9:7");
  EXPECT_EQ(source_of(storage), "192.0.2.9");
}

}  // namespace
}  // namespace railgauge

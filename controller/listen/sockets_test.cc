#include "controller/listen/sockets.h"

#include <netinet/in.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

#include "controller/listen/handed_over.h"

namespace railgauge {
namespace {

// Both ends of a connection; the second one is the controller's.
struct Ends {
  Fd peer;
  Fd own;
};

Ends connect() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {.peer = Fd(ends[0]), .own = Fd(ends[1])};
}

// Reports whether the peer of an ended connection sees its end.
bool is_ended(const Ends& ends) {
  char byte = 0;
  return ::recv(ends.peer.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

sockaddr_storage address(int port) {
  sockaddr_storage storage{};
  auto& ipv4 = reinterpret_cast<sockaddr_in&>(storage);
  ipv4.sin_family = AF_INET;
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ipv4.sin_port = htons(static_cast<std::uint16_t>(port));
  return storage;
}

void add(HandedOver& connections, const Ends& ends, int port) {
  connections.add(ends.own.get(), cookie_of(ends.own.get()), address(port), 0);
}

TEST(ConnectionEnder, EndsTheSocketOfItsCookieAndNoOtherWithThatDescriptor) {
  ConnectionEnder ender;
  const Ends ends = connect();
  EXPECT_FALSE(ender.end(ends.own.get(), cookie_of(ends.own.get()) + 1));
  EXPECT_FALSE(is_ended(ends));
  EXPECT_TRUE(ender.end(ends.own.get(), cookie_of(ends.own.get())));
  EXPECT_TRUE(is_ended(ends));
}

TEST(ConnectionEnder, NeedsNoFreeDescriptor) {
  constexpr rlim_t kFew = 256;
  ConnectionEnder ender;
  const Ends ends = connect();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = kFew, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Fd> others;
  while (Fd other = Fd(::dup(ends.own.get()))) others.push_back(std::move(other));
  EXPECT_EQ(errno, EMFILE);
  const bool ended = ender.end(ends.own.get(), cookie_of(ends.own.get()));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(ended);
  EXPECT_TRUE(is_ended(ends));
}

TEST(HandedOver, ACertificateWithManyConnectionsKeepsAFewWhenDescriptorsAreScarce) {
  HandedOver connections;
  std::vector<Ends> ends;
  constexpr int kMany = static_cast<int>(HandedOver::kFewOfACertificate) + 2;
  for (int port = 1; port <= kMany; ++port) {
    ends.push_back(connect());
    add(connections, ends.back(), port);
    connections.begin_greeting(cookie_of(ends.back().own.get()));
    connections.end_greeting(cookie_of(ends.back().own.get()), "n1", 0);
  }
  EXPECT_TRUE(connections.shed());
  EXPECT_TRUE(connections.shed());
  EXPECT_FALSE(connections.shed());
  EXPECT_TRUE(is_ended(ends.at(0)));
  EXPECT_TRUE(is_ended(ends.at(1)));
  EXPECT_FALSE(is_ended(ends.at(2)));
}

}  // namespace
}  // namespace railgauge

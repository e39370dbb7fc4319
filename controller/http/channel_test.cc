// A channel on one end of a socket pair, with the peer on the other.
#include "controller/http/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <string>

#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/fd.h"

namespace railgauge::http {
namespace {

struct Ends {
  Fd server;
  Fd peer;
};

Ends make_ends() {
  int both[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, both), 0);
  return {Fd(both[0]), Fd(both[1])};
}

void send_text(const Fd& peer, const std::string& text) {
  ASSERT_EQ(::send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// All that the channel gives, byte by byte, as httplib asks.
std::string read_bytes(Channel& channel) {
  std::string text;
  for (char byte = 0; channel.read(&byte, 1) == 1;) text += byte;
  return text;
}

constexpr double kLongNs = 60e9;

TEST(Channel, GivesARequestItsBytesAndNoMore) {
  const Ends ends = make_ends();
  Channel channel(ends.server.get());
  channel.set_deadline(monotonic_now_ns() + kLongNs);
  send_text(ends.peer, std::string(Channel::kMaxRequestBytes + 10, 'x'));
  channel.begin_request();
  EXPECT_EQ(read_bytes(channel).size(), Channel::kMaxRequestBytes);
  channel.begin_request();
  ASSERT_TRUE(channel.wait_for_request()) << "the rest is there already";
  ::shutdown(ends.peer.get(), SHUT_WR);
  EXPECT_EQ(read_bytes(channel), std::string(10, 'x'));
}

TEST(Channel, AfterItsDeadlineNothingIsReadOrWritten) {
  const Ends ends = make_ends();
  Channel channel(ends.server.get());
  channel.set_deadline(monotonic_now_ns() + 20e6);
  EXPECT_FALSE(channel.wait_for_request()) << "nothing was sent";
  send_text(ends.peer, "GET");
  char byte = 0;
  EXPECT_EQ(channel.read(&byte, 1), -1);
  EXPECT_EQ(channel.write("x", 1), -1);
}

TEST(Channel, APeerThatDoesNotReadEndsTheAnswerAtTheDeadline) {
  const Ends ends = make_ends();
  Channel channel(ends.server.get());
  channel.set_deadline(monotonic_now_ns() + 50e6);
  const std::string page(1U << 16U, 'x');
  ssize_t count = 1;
  for (int i = 0; count > 0 && i < 1'000; ++i) count = channel.write(page.data(), page.size());
  EXPECT_EQ(count, -1);
}

TEST(Channel, FinishLeavesThePeerTheAnswerDespiteUnreadBytes) {
  const Ends ends = make_ends();
  Channel channel(ends.server.get());
  channel.set_deadline(monotonic_now_ns() + kLongNs);
  send_text(ends.peer, "a body that nobody reads");
  ASSERT_EQ(channel.write("answer", 6), 6);
  channel.finish();
  char answer[16] = {};
  EXPECT_EQ(::recv(ends.peer.get(), answer, sizeof(answer), 0), 6);
  EXPECT_EQ(::recv(ends.peer.get(), answer, sizeof(answer), 0), 0) << "the end";
}

}  // namespace
}  // namespace railgauge::http

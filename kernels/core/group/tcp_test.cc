#include "kernels/core/group/tcp.h"

#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge {
namespace {

std::string listen_text(std::string_view text) {
  const auto address = parse_listen_address(text);
  return address ? to_string(*address) : "error";
}

std::string connect_text(std::string_view text) {
  const auto address = parse_connect_address(text, 7479);
  return address ? to_string(*address) : "error";
}

double in_seconds(double seconds) { return monotonic_now_ns() + seconds * 1e9; }

TEST(ParseListenAddress, TakesAPortWithOrWithoutAnAddress) {
  EXPECT_EQ(listen_text("7479"), "*:7479");
  EXPECT_EQ(listen_text(":7479"), "*:7479");
  EXPECT_EQ(listen_text("10.0.0.1:0"), "10.0.0.1:0");
  EXPECT_EQ(listen_text("[::1]:7479"), "[::1]:7479");
  for (const char* text : {"", "node2", "10.0.0.1", "10.0.0.1:", "1:65536", "1:-1", "[::1]", "[]:1",
                           "[::1:7479", "[::1]7479", "::1"})
    EXPECT_EQ(listen_text(text), "error") << text;
}

// A host beyond the short strings: the leak sanitizer sees what a refusal keeps.
TEST(ParseListenAddress, KeepsNothingOfARefusedPort) {
  EXPECT_EQ(listen_text("[2001:db8:0:1:2:3:4:5:6:7:8:9:a:b:c]:http"), "error");
}

TEST(ParseConnectAddress, TakesAHostWithOrWithoutAPort) {
  EXPECT_EQ(connect_text("node2"), "node2:7479");
  EXPECT_EQ(connect_text("node2:99"), "node2:99");
  EXPECT_EQ(connect_text("::1"), "[::1]:7479");
  EXPECT_EQ(connect_text("[::1]"), "[::1]:7479");
  EXPECT_EQ(connect_text("[fe80::1%eth0]:99"), "[fe80::1%eth0]:99");
  for (const char* text : {"", ":7479", "node2:", "node2:http", "[]"})
    EXPECT_EQ(connect_text(text), "error") << text;
  EXPECT_EQ(parse_connect_address("node2:http", 1).error().message,
            "address \"node2:http\": port \"http\" is not 0 to 65535");
}

TEST(TcpListen, SaysWhyItCannot) {
  const auto first = tcp_listen({"127.0.0.1", 0});
  ASSERT_TRUE(first) << first.error().message;
  const auto second = tcp_listen(local_address(*first));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_NE(second.error().message.find("Address already in use (errno 98)"), std::string::npos);
  EXPECT_EQ(tcp_listen({"node2", 0}).error().code, Code::kInvalidArgument)
      << "names are not looked up";
}

TEST(TcpListen, WithoutAnAddressTakesIpv4) {
  const auto listener = tcp_listen({"", 0});
  ASSERT_TRUE(listener) << listener.error().message;
  const auto client = tcp_connect({"127.0.0.1", local_address(*listener).port}, in_seconds(5));
  ASSERT_TRUE(client) << client.error().message;
  const auto accepted = tcp_accept(*listener);
  ASSERT_TRUE(accepted && accepted->socket);
  EXPECT_EQ(accepted->peer.host, "127.0.0.1") << "not its form mapped into IPv6";
  EXPECT_EQ(accepted->peer.port, local_address(*client).port);
  EXPECT_FALSE(tcp_accept(*listener)->socket);
}

TEST(TcpConnect, EndsByItsDeadlineWhereNobodyListens) {
  std::uint16_t port = 0;
  {
    const auto listener = tcp_listen({"127.0.0.1", 0});
    port = local_address(*listener).port;
  }
  const double begin_ns = monotonic_now_ns();
  const auto client = tcp_connect({"127.0.0.1", port}, in_seconds(0.15));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().message,
            "connect to 127.0.0.1:" + std::to_string(port) +
                ": Connection refused (errno 111); start the other side with --listen first");
  EXPECT_GE(monotonic_now_ns() - begin_ns, 0.14e9) << "it tries again until then";
}

TEST(FrameStream, ASenderWhosePeerReadsNothingEndsByItsDeadline) {
  const auto listener = tcp_listen({"127.0.0.1", 0});
  auto client = tcp_connect(local_address(*listener), in_seconds(5));
  ASSERT_TRUE(client);
  FrameStream stream(std::move(*client), local_address(*listener));
  GroupStep large;
  large.add_payloads(std::string(7U << 20U, 'x'));
  const auto sent = stream.send(large, in_seconds(0.05));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace railgauge

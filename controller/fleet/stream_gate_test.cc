#include "controller/fleet/stream_gate.h"

#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;

auth::Peer with_certificate(const std::string& node) {
  return {.role = auth::Role::kAgent,
          .who = node,
          .common_name = node,
          .address = "ipv4:192.0.2.1:4711"};
}
auth::Peer insecure(const std::string& address) {
  return {.role = auth::Role::kAny, .who = address, .address = address};
}

TEST(StreamGate, ACertificateHasTwoStreamsAndAThirdIsRefusedUntilOneEnds) {
  StreamGate gate({});
  auto first = gate.admit(with_certificate("n1"));
  auto second = gate.admit(with_certificate("n1"));
  ASSERT_TRUE(first && second);
  gate.attached(with_certificate("n1"), *first);
  const auto third = gate.admit(with_certificate("n1"));
  ASSERT_FALSE(third) << "an attached stream counts as well";
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_THAT(third.error().message, HasSubstr("certificate n1 has 2 streams, its limit"));
  EXPECT_TRUE(gate.admit(with_certificate("n2"))) << "another is not kept out";
  gate.release(*first);
  gate.release(*first);
  EXPECT_EQ(gate.open(), 2U);
  EXPECT_TRUE(gate.admit(with_certificate("n1")));
  EXPECT_FALSE(gate.admit(with_certificate("n1")));
}

TEST(StreamGate, WithoutCertificatesASourceIsBoundedUntilItsStreamsAttach) {
  StreamGate gate({.all = 100, .unattached = 3});
  std::vector<StreamGate::Place> places;
  for (int node = 0; node < 50; ++node) {
    const auth::Peer peer = insecure(fmt::format("ipv4:192.0.2.1:{}", 1'000 + node));
    auto place = gate.admit(peer);
    ASSERT_TRUE(place) << "a simulated fleet attaches from one address";
    gate.attached(peer, *place);
    places.push_back(*place);
  }
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(gate.admit(insecure("ipv4:192.0.2.1:9")));
  EXPECT_THAT(gate.admit(insecure("ipv4:192.0.2.1:10")).error().message,
              HasSubstr("ipv4:192.0.2.1 has 3 streams without a Hello, its limit"));
  EXPECT_TRUE(gate.admit(insecure("ipv6:[::1]:4")));
}

TEST(StreamGate, RefusedStreamsTakeNoPlace) {
  StreamGate gate({.all = 5});
  ASSERT_TRUE(gate.admit(with_certificate("n1")));
  ASSERT_TRUE(gate.admit(with_certificate("n1")));
  for (int i = 0; i < 20'400; ++i) ASSERT_FALSE(gate.admit(with_certificate("n1")));
  EXPECT_EQ(gate.open(), 2U);
  EXPECT_TRUE(gate.admit(with_certificate("n2")));
  StreamGate::Place none;
  gate.release(none);
  EXPECT_EQ(gate.open(), 3U);
}

// Whatever order streams come and go in, nothing is counted twice or forgotten.
TEST(StreamGate, CountsComeBackToZero) {
  std::mt19937 random(7);
  StreamGate gate({.all = 40, .certificate = 2, .unattached = 5});
  std::vector<std::pair<auth::Peer, StreamGate::Place>> open;
  for (int step = 0; step < 20'000; ++step) {
    const auto number = random() % 12;
    if (random() % 2 == 0) {
      const auth::Peer peer = number < 8 ? with_certificate(fmt::format("n{}", number))
                                         : insecure(fmt::format("ipv4:192.0.2.{}:1", number));
      if (auto place = gate.admit(peer)) open.emplace_back(peer, *place);
    } else if (!open.empty()) {
      auto& [peer, place] = open[random() % open.size()];
      if (random() % 2 == 0) {
        gate.attached(peer, place);
        continue;
      }
      gate.release(place);
      std::swap(open.back(), *std::ranges::find_if(open, [&place = place](const auto& entry) {
                  return &entry.second == &place;
                }));
      open.pop_back();
    }
    ASSERT_EQ(gate.open(), open.size());
    ASSERT_LE(gate.open(), 40U);
  }
  for (auto& [peer, place] : open) gate.release(place);
  EXPECT_EQ(gate.open(), 0U);
  EXPECT_TRUE(gate.admit(with_certificate("n1")));
  EXPECT_TRUE(gate.admit(with_certificate("n1")));
}

TEST(PeerKey, IsTheCertificateElseTheAddressWithoutItsPort) {
  EXPECT_EQ(peer_key(with_certificate("n1")), "certificate n1");
  EXPECT_EQ(peer_key(insecure("ipv4:192.0.2.1:4711")), "ipv4:192.0.2.1");
  EXPECT_EQ(peer_key(insecure("unix socket")), "unix socket");
}

}  // namespace
}  // namespace railgauge::fleet

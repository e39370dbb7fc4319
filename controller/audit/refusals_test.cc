#include "controller/audit/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace railgauge::audit {
namespace {

using testing::SizeIs;

store::AuditRow refused(const std::string& who, const std::string& address = "ipv4:192.0.2.1:1",
                        const std::string& outcome = "permission_denied") {
  return {.who = who,
          .address = address,
          .rpc = "Control.StartRun",
          .subject = "suite.name=quick",
          .outcome = outcome,
          .refused = true};
}

// Makes so many calls at one time; returns how many got a row.
int admitted(Refusals& refusals, const store::AuditRow& row, int calls, double now) {
  int rows = 0;
  for (int i = 0; i < calls; ++i) rows += refusals.admit(row, now) ? 1 : 0;
  return rows;
}

TEST(Refusals, APeerHasSixRowsAMinuteThenTheCount) {
  Refusals refusals;
  EXPECT_EQ(admitted(refusals, refused("bob"), 1'000, 10), 6);
  EXPECT_THAT(refusals.take_ended(69), SizeIs(0));
  const auto counted = refusals.take_ended(70);
  ASSERT_THAT(counted, SizeIs(1));
  EXPECT_EQ(counted[0].count, 994U);
  EXPECT_EQ(counted[0].who, "bob");
  EXPECT_EQ(counted[0].outcome, "permission_denied");
  EXPECT_TRUE(counted[0].refused);
  EXPECT_EQ(admitted(refusals, refused("bob"), 7, 71), 6) << "a new minute";
}

TEST(Refusals, FewRefusedCallsMakeNoCount) {
  Refusals refusals;
  EXPECT_EQ(admitted(refusals, refused("bob"), 6, 10), 6);
  EXPECT_THAT(refusals.take_ended(1'000), SizeIs(0));
}

TEST(Refusals, OtherPeersAndReasonsHaveTheirOwn) {
  Refusals refusals;
  EXPECT_EQ(admitted(refusals, refused("bob"), 50, 10), 6);
  EXPECT_EQ(admitted(refusals, refused("eve"), 50, 10), 6);
  EXPECT_EQ(admitted(refusals, refused("bob", "ipv4:192.0.2.2:1"), 50, 10), 6);
  EXPECT_EQ(admitted(refusals, refused("bob", "ipv4:192.0.2.1:1", "resource_exhausted"), 50, 10),
            6);
  EXPECT_THAT(refusals.take_ended(70), SizeIs(4));
}

TEST(Refusals, ANewConnectionIsTheSamePeer) {
  Refusals refusals;
  int rows = 0;
  for (int port = 1; port <= 500; ++port) {
    const std::string address = fmt::format("ipv4:192.0.2.1:{}", port);
    rows += refusals.admit(refused(address, address), 10) ? 1 : 0;
  }
  EXPECT_EQ(rows, 6);
}

TEST(Refusals, AnyNumberOfPeersMakesABoundedNumberOfRows) {
  Refusals refusals;
  std::size_t rows = 0;
  for (int peer = 0; peer < 5'000; ++peer)
    rows += static_cast<std::size_t>(
        admitted(refusals, refused(fmt::format("peer{}", peer), "ipv6:[::1]:2"), 20, 10));
  const auto counted = refusals.take_ended(70);
  EXPECT_EQ(rows, (Refusals::kMaxWindows + 1) * Refusals::kRows);
  EXPECT_THAT(counted, SizeIs(Refusals::kMaxWindows + 1));
  std::size_t calls = rows;
  for (const auto& row : counted) calls += row.count;
  EXPECT_EQ(calls, 100'000U) << "none is forgotten";
  EXPECT_THAT(counted, testing::Contains(testing::Field(&store::AuditRow::who, "others")));
}

TEST(Refusals, StrangersHaveFewWindows) {
  Refusals refusals(Refusals::kMaxStrangers);
  int rows = 0;
  for (int peer = 0; peer < 5'000; ++peer)
    rows += admitted(refusals,
                     refused("unknown", fmt::format("ipv4:10.0.{}.{}:1", peer / 256, peer % 256)),
                     20, 10);
  EXPECT_EQ(rows, (Refusals::kMaxStrangers + 1) * Refusals::kRows);
  EXPECT_THAT(refusals.take_ended(70), SizeIs(Refusals::kMaxStrangers + 1));
}

TEST(Refusals, AHostHasNoPort) {
  EXPECT_EQ(host_of("ipv4:192.0.2.1:40000"), "ipv4:192.0.2.1");
  EXPECT_EQ(host_of("ipv6:[2001:db8::1]:40000"), "ipv6:[2001:db8::1]");
  EXPECT_EQ(host_of("unix socket"), "unix socket");
  EXPECT_EQ(host_of("ipv4:"), "ipv4:");
  EXPECT_EQ(host_of("ann:smith"), "ann:smith");
}

}  // namespace
}  // namespace railgauge::audit

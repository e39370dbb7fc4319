#include "kernels/verbs/transport/gid.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace railgauge::verbs {
namespace {

constexpr std::uint32_t kNetdev = 4;
constexpr std::uint32_t kVlan = 7;

GidEntry entry(std::uint32_t index, std::uint32_t type, const char* address,
               std::uint32_t netdev = kNetdev) {
  GidEntry made;
  made.index = index;
  made.type = type;
  made.netdev = netdev;
  EXPECT_EQ(inet_pton(AF_INET6, address, made.gid.raw), 1);
  return made;
}

constexpr auto kV1 = IBV_GID_TYPE_ROCE_V1;
constexpr auto kV2 = IBV_GID_TYPE_ROCE_V2;
constexpr const char* kLinkLocal = "fe80::5054:ff:fe00:1";
constexpr const char* kGlobal = "2001:db8::1";
constexpr const char* kIpv4 = "::ffff:192.0.2.1";

struct Case {
  const char* name;
  std::vector<GidEntry> table;
  std::uint32_t chosen;
};

class GidRule : public ::testing::TestWithParam<Case> {};

TEST_P(GidRule, Chooses) {
  const auto chosen = choose_gid(GetParam().table);
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->index, GetParam().chosen);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, GidRule,
    ::testing::Values(
        Case{"Ipv4OverV2First",
             {entry(0, kV1, kLinkLocal), entry(1, kV2, kLinkLocal), entry(2, kV1, kIpv4),
              entry(3, kV2, kIpv4), entry(4, kV2, kGlobal)},
             3},
        Case{"GlobalIpv6WithoutIpv4",
             {entry(0, kV1, kLinkLocal), entry(1, kV2, kLinkLocal), entry(2, kV1, kGlobal),
              entry(3, kV2, kGlobal)},
             3},
        Case{"LinkLocalV2BeforeAnyV1",
             {entry(0, kV1, kIpv4), entry(1, kV1, kLinkLocal), entry(2, kV2, kLinkLocal)},
             2},
        Case{"V1WithIpv4WhereThereIsNoV2", {entry(0, kV1, kLinkLocal), entry(1, kV1, kIpv4)}, 1},
        Case{"ThePortsOwnNetdevBeforeAVlan",
             {entry(0, kV1, kLinkLocal), entry(1, kV2, kIpv4, kVlan), entry(5, kV2, kIpv4)},
             5},
        Case{"AVlansIpv4BeforeThePortsIpv6",
             {entry(0, kV2, kGlobal), entry(1, kV2, kIpv4, kVlan)},
             1},
        Case{"TheLowestOfEquals", {entry(2, kV2, kIpv4), entry(6, kV2, kIpv4)}, 2},
        Case{"InfinibandTakesEntryZero",
             {entry(0, IBV_GID_TYPE_IB, "fe80::1", 0), entry(1, IBV_GID_TYPE_IB, "fec0::1", 0)},
             0}),
    [](const auto& param) { return param.param.name; });

TEST(Gid, AnEmptyTableSaysWhatWouldHelp) {
  const auto chosen = choose_gid({});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(chosen.error().message, ::testing::HasSubstr("give its netdev an address"));
}

TEST(Gid, ARuleAllowsOnlyItsKindAndKeepsTheOrderWithinIt) {
  const std::vector<GidEntry> table{entry(0, kV1, kLinkLocal), entry(1, kV2, kLinkLocal),
                                    entry(2, kV1, kIpv4), entry(4, kV2, kGlobal)};
  EXPECT_EQ(choose_gid(table, gid_rule_of("roce_v1"))->index, 2U);
  EXPECT_EQ(choose_gid(table, gid_rule_of("roce_v2"))->index, 4U);
  EXPECT_EQ(choose_gid(table, gid_rule_of("auto"))->index, choose_gid(table)->index);
  const auto none = choose_gid(table, gid_rule_of("roce_v2_ipv4"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(none.error().message,
              ::testing::StartsWith("parameter gid_rule: no entry of the port's GID table is "
                                    "roce_v2_ipv4; filled: 0 (RoCE v1 "));
}

TEST(Gid, ARuleStillPrefersThePortsOwnNetdev) {
  const std::vector<GidEntry> table{entry(0, kV1, kLinkLocal), entry(1, kV2, kIpv4, kVlan),
                                    entry(5, kV2, kIpv4)};
  EXPECT_EQ(choose_gid(table, gid_rule_of("roce_v2_ipv4"))->index, 5U);
}

TEST(Gid, AHandPickedEntryMustBeFilled) {
  const std::vector<GidEntry> table{entry(1, kV2, kIpv4)};
  EXPECT_EQ(gid_at(table, 1)->index, 1U);
  const auto absent = gid_at(table, 2);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kInvalidArgument);
  EXPECT_EQ(absent.error().message,
            "parameter gid_index: entry 2 is empty; filled: 1 (RoCE v2 ::ffff:192.0.2.1)");
}

// The tree as Linux shows it, for libraries that cannot list the table themselves.
class GidSysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/railgauge_gid_test_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
    for (const char* folder : {"gids", "gid_attrs/types", "gid_attrs/ndevs"})
      std::filesystem::create_directories(root_ + "/" + folder);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void add(int index, const char* gid, const char* type, const char* netdev) const {
    const std::string name = std::to_string(index);
    std::ofstream(root_ + "/gids/" + name) << gid << "\n";
    std::ofstream(root_ + "/gid_attrs/types/" + name) << type << "\n";
    std::ofstream(root_ + "/gid_attrs/ndevs/" + name) << netdev << "\n";
  }
  std::string root_;
};

TEST_F(GidSysfs, ReadsTypesAndLeavesOutEmptyEntries) {
  add(0, "fe80:0000:0000:0000:5054:00ff:fe00:0001", "IB/RoCE v1", "lo");
  add(1, "0000:0000:0000:0000:0000:ffff:c000:0201", "RoCE v2", "lo");
  add(2, "0000:0000:0000:0000:0000:0000:0000:0000", "", "");
  const auto entries = read_gids_from_sysfs(root_, 8);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].type, kV1);
  EXPECT_EQ(entries[1].type, kV2);
  EXPECT_EQ(entries[1].index, 1U);
  EXPECT_NE(entries[1].netdev, 0U);
  EXPECT_EQ(choose_gid(entries)->index, 1U);
}

TEST_F(GidSysfs, AnEntryWithoutNetdevIsInfiniband) {
  add(0, "fe80:0000:0000:0000:0002:c903:00a1:b2c3", "IB/RoCE v1", "");
  const auto entries = read_gids_from_sysfs(root_, 1);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].type, IBV_GID_TYPE_IB);
}

}  // namespace
}  // namespace railgauge::verbs

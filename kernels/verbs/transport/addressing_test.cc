// GIDs by rule and partitions by value: the parameters' meaning, and the refused values.
#include "kernels/verbs/transport/addressing.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge::verbs {
namespace {

using fake::verbs_control;
using ::testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

TEST(Partition, IsFoundByItsWholeValue) {
  const std::vector<std::uint16_t> table{0xffff, 0, 0x8001, 0x0002};
  EXPECT_EQ(find_pkey(table, "0x8001").value(), 2);
  EXPECT_EQ(find_pkey(table, "0x0002").value(), 3);
  EXPECT_EQ(find_pkey(table, "0xffff").value(), 0);
}

TEST(Partition, ThatIsNotThereIsRefusedWithWhatIs) {
  const std::vector<std::uint16_t> table{0xffff, 0, 0x8001, 0x0002};
  const auto message = [&table](const char* wanted) {
    const auto found = find_pkey(table, wanted);
    EXPECT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kFailedPrecondition);
    return found.error().message;
  };
  EXPECT_EQ(
      message("0x8003"),
      "parameter pkey: 0x8003 is not in the port's table, which holds 0xffff, 0x8001, 0x0002");
  EXPECT_THAT(message("0x0001"), HasSubstr("; 0x8001 is that partition's full member"));
  EXPECT_THAT(message("0x8002"), HasSubstr("; 0x0002 is that partition's limited member"));
  EXPECT_THAT(find_pkey({}, "0x8001").error().message, HasSubstr("name its entry by pkey_index"));
}

TEST(Partition, HasOneWayToBeWritten) {
  for (const char* wrong : {"", "1", "8001", "0x1", "0X8001", "0x800A", "0x08001", "0x0000",
                            "0x8000", "0x80g1", "32769"}) {
    const auto found = find_pkey(std::vector<std::uint16_t>{0x8001}, wrong);
    ASSERT_FALSE(found) << wrong;
    EXPECT_EQ(found.error().code, Code::kInvalidArgument) << wrong;
    EXPECT_THAT(found.error().message, HasSubstr("as in 0x8001"));
  }
}

// With the folders that stand for the kernel's view of both devices' first ports.
class Addressed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override {
    verbs_control().reset();
    root_ = ::testing::TempDir() + "/railgauge_addressing_test_" + std::to_string(getpid());
    std::filesystem::remove_all(root_);
    for (const char* device : {"fake0", "fake1"})
      std::filesystem::create_directories(port(device) + "/pkeys");
    fake::set_sysfs_folder(root_);
  }
  void TearDown() override {
    fake::set_sysfs_folder("");
    std::filesystem::remove_all(root_);
  }
  std::string port(const char* device) const { return root_ + "/" + device + "/ports/1"; }
  void partition(const char* device, int index, const char* key) const {
    std::ofstream(port(device) + "/pkeys/" + std::to_string(index)) << key << "\n";
  }
  static auto run(Parameters parameters) {
    parameters.insert({{"iterations", "10"}, {"stall_timeout", "30s"}});
    return fake::run_pair(*find_kernel("verbs.write_bw"), {.parameters = std::move(parameters)});
  }
  static std::string refusal(const Parameters& parameters, Code code) {
    const auto results = run(parameters);
    if (results[0].status) return "measured";
    EXPECT_EQ(results[0].status.error().code, code) << results[0].status.error().message;
    return results[0].status.error().message;
  }
  std::string root_;
};

TEST_F(Addressed, EachRankFindsThePartitionInItsOwnTable) {
  partition("fake0", 0, "0xffff");
  partition("fake0", 1, "0x8001");
  partition("fake1", 0, "0x8001");
  partition("fake1", 1, "0xffff");
  const auto results = run({{"pkey", "0x8001"}});
  for (const auto& result : results) ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(results[0].facts.at("pkey_index"), "1");
  EXPECT_EQ(results[1].facts.at("pkey_index"), "0");
  for (const auto& result : results) EXPECT_EQ(result.facts.at("pkey"), "0x8001");
}

TEST_F(Addressed, APartitionThatCannotBeIsRefusedByParameter) {
  for (const char* device : {"fake0", "fake1"})
    for (const int index : {0, 1}) partition(device, index, "0xffff");
  EXPECT_THAT(refusal({{"pkey", "0x8001"}}, Code::kFailedPrecondition),
              HasSubstr("fake0:1: parameter pkey: 0x8001 is not in the port's table"));
  EXPECT_THAT(refusal({{"pkey", "0xffff"}, {"pkey_index", "1"}}, Code::kInvalidArgument),
              HasSubstr("pkey_index 1 exclude each other"));
  EXPECT_THAT(refusal({{"pkey", "0xffff"}, {"connection", "rdma_cm"}}, Code::kInvalidArgument),
              HasSubstr("parameter pkey: the connection manager chooses"));
}

TEST_F(Addressed, WithoutATableTheIndexIsToldAndNoKey) {
  const auto results = run({});
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  EXPECT_EQ(results[0].facts.at("pkey_index"), "0");
  EXPECT_FALSE(results[0].facts.contains("pkey"));
}

TEST_F(Addressed, TheGidFollowsTheRule) {
  const auto by_rule = run({{"gid_rule", "roce_v1"}});
  ASSERT_TRUE(by_rule[0].status) << by_rule[0].status.error().message;
  EXPECT_EQ(by_rule[0].facts.at("gid_type"), "RoCE v1");
  const auto by_index = run({{"gid_rule", "index"}, {"gid_index", "0"}});
  ASSERT_TRUE(by_index[0].status) << by_index[0].status.error().message;
  EXPECT_EQ(by_index[0].facts.at("gid_index"), "0");
  const auto v4 = run({{"gid_rule", "roce_v2_ipv4"}});
  ASSERT_TRUE(v4[0].status) << v4[0].status.error().message;
  EXPECT_EQ(v4[0].facts.at("gid_type"), "RoCE v2");
}

TEST_F(Addressed, ARuleThatCannotHoldIsRefusedByParameter) {
  EXPECT_THAT(refusal({{"gid_rule", "index"}}, Code::kInvalidArgument),
              HasSubstr("parameter gid_rule: index needs gid_index"));
  EXPECT_THAT(refusal({{"gid_rule", "roce_v2"}, {"gid_index", "1"}}, Code::kInvalidArgument),
              HasSubstr("roce_v2 and gid_index 1 exclude each other"));
  verbs_control().infiniband = 1;
  const std::string message = refusal({{"gid_rule", "roce_v2"}}, Code::kFailedPrecondition);
  EXPECT_THAT(message, HasSubstr("fake0:1: parameter gid_rule: no entry of the port's GID table is "
                                 "roce_v2; filled: 0 ("));
}

}  // namespace
}  // namespace railgauge::verbs

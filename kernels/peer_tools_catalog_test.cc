// Compares kernels/peers/tools.h and kernels/peers/perftest/profile.h with the declarations of our
// kernels.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/peers/perftest/profile.h"
#include "kernels/peers/tools.h"

namespace railgauge {
namespace {

class EachPeerTest : public ::testing::TestWithParam<PeerTest> {
 protected:
  // Not yet in this build's catalog: nothing to hold it against.
  void SetUp() override {
    if (find_kernel(GetParam().kernel) == nullptr) GTEST_SKIP();
    info_ = find_kernel(GetParam().kernel)->info();
  }
  KernelInfo info_;
};

TEST_P(EachPeerTest, GivesCanonicalValuesOfDeclaredParameters) {
  auto given = GetParam().parameters;
  given.insert(GetParam().exact.begin(), GetParam().exact.end());
  const auto params = Params::parse(info_, given);
  ASSERT_TRUE(params) << params.error().message;
  for (const auto& [name, value] : given) EXPECT_EQ(params->effective().at(name), value) << name;
}

TEST_P(EachPeerTest, NamesMetricsAndTheEndpointOfItsKernel) {
  const auto& metrics = info_.metrics();
  for (const std::string_view metric : GetParam().metrics)
    EXPECT_NE(std::find(metrics.begin(), metrics.end(), metric), metrics.end()) << metric;
  if (GetParam().cell == PeerCell::kMetric) {
    EXPECT_EQ(static_cast<std::size_t>(metrics.size()), GetParam().metrics.size());
  }
  EXPECT_EQ(info_.endpoint_kind(), GetParam().scope == PeerScope::kOnce ? "none" : "gpu");
}

// The way back knows the kernel's defaults: with them written out it is the same command.
TEST_P(EachPeerTest, LeadsToOneCommandWithAndWithoutTheDefaults) {
  using Parameters = std::map<std::string, std::string>;
  // gdrcopy's sizes are the tool's own where none are given.
  const Parameters least = GetParam().tool == "gdrcopy" ? GetParam().parameters : Parameters{};
  for (const auto& given : {least, GetParam().parameters}) {
    const auto params = Params::parse(info_, given);
    ASSERT_TRUE(params) << params.error().message;
    const auto bare = peer_command(GetParam().tool, GetParam().kernel, given, "");
    const auto whole = peer_command(GetParam().tool, GetParam().kernel, params->effective(), "");
    ASSERT_EQ(bare.has_value(), whole.has_value())
        << (bare ? whole.error().message : bare.error().message);
    if (bare) {
      EXPECT_EQ(*bare, *whole);
    } else {
      EXPECT_EQ(bare.error().message, whole.error().message);
    }
  }
}

TEST(PerftestPrograms, TakeCanonicalValuesOfDeclaredParameters) {
  for (const PerftestProgram& program : perftest_programs())
    for (const std::string_view name : {program.kernel, program.immediate}) {
      if (name.empty()) continue;
      const KernelRow* kernel = find_kernel(name);
      ASSERT_NE(kernel, nullptr) << name;
      const auto params = Params::parse(kernel->info(), program.defaults);
      ASSERT_TRUE(params) << params.error().message;
      for (const auto& [parameter, value] : program.defaults)
        EXPECT_EQ(params->effective().at(parameter), value) << name << " " << parameter;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Tools, EachPeerTest,
    ::testing::ValuesIn(std::vector<PeerTest>(peer_tests().begin(), peer_tests().end())),
    [](const auto& row) {
      std::string kernel(row.param.kernel.substr(row.param.kernel.find('.') + 1));
      return std::string(row.param.test) + "_by_" + kernel;
    });

}  // namespace
}  // namespace railgauge

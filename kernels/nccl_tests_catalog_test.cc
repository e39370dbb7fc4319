// Compares kernels/peers/nccl_tests/profile.h with the declarations of our collectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "kernels/catalog.h"
#include "kernels/core/params.h"
#include "kernels/peers/nccl_tests/profile.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge {
namespace {

TEST(NcclTestsPrograms, MeasureWithKernelsOfTheCatalogAndCanonicalDefaults) {
  for (const NcclTestsProgram& program : nccl_tests_programs()) {
    const KernelRow* kernel = find_kernel(program.kernel);
    ASSERT_NE(kernel, nullptr) << program.kernel;
    const auto given = with_profile(kNcclTestsProfile, program.kernel, {{"sizes", "1MiB"}});
    ASSERT_TRUE(given) << given.error().message;
    EXPECT_EQ(given->at("sizes"), "1MiB") << "what is said rules";
    const auto params = Params::parse(kernel->info(), nccl_tests_defaults());
    ASSERT_TRUE(params) << params.error().message;
    for (const auto& [name, value] : nccl_tests_defaults())
      EXPECT_EQ(params->effective().at(name), value) << name;
  }
  EXPECT_FALSE(with_profile(kNcclTestsProfile, "nccl.pairwise", {}));
}

TEST(NcclTestsPrograms, NameEveryTypeThatTheKernelsTake) {
  const KernelInfo kernel = find_kernel("nccl.all_reduce")->info();
  const auto declared =
      std::ranges::find(kernel.parameters(), std::string("datatype"), &ParameterInfo::name);
  ASSERT_NE(declared, kernel.parameters().end());
  for (const std::string& type : declared->choices()) {
    const auto theirs = type_for_nccl_tests(type);
    ASSERT_TRUE(theirs) << type;
    EXPECT_EQ(type_from_nccl_tests(*theirs), type);
  }
  EXPECT_EQ(nccl_tests_types().size(), static_cast<std::size_t>(declared->choices_size()));
}

// Each parameter whose summary begins with a variable of NCCL's is a row of the table, and the
// other way round; its default sets nothing.
TEST(NcclSettings, AreThoseThatTheKernelsDeclare) {
  const KernelInfo kernel = find_kernel("nccl.all_reduce")->info();
  std::set<std::string> declared;
  for (const ParameterInfo& parameter : kernel.parameters())
    if (parameter.summary().starts_with("NCCL_"))
      declared.insert(parameter.name() + " " +
                      parameter.summary().substr(0, parameter.summary().find(':')) + " " +
                      parameter.default_value());
  std::set<std::string> table;
  for (const NcclSetting& setting : nccl_settings())
    table.insert(std::string(setting.parameter) + " " + std::string(setting.variable) + " " +
                 std::string(setting.unset));
  EXPECT_EQ(table, declared);
  const auto params = Params::parse(kernel, {});
  ASSERT_TRUE(params);
  EXPECT_TRUE(nccl_environment(params->effective()).empty());
}

TEST(NcclSettings, BecomeTheVariablesThatNcclReads) {
  EXPECT_EQ(nccl_environment({{"ib_disable", "true"},
                              {"net_gdr_read", "false"},
                              {"net_gdr_level", "PXB"},
                              {"ib_tc", "0"},
                              {"algo", "^Tree"},
                              {"sizes", "8"}}),
            (std::vector<std::pair<std::string, std::string>>{{"NCCL_IB_DISABLE", "1"},
                                                              {"NCCL_NET_GDR_LEVEL", "PXB"},
                                                              {"NCCL_NET_GDR_READ", "0"},
                                                              {"NCCL_IB_TC", "0"},
                                                              {"NCCL_ALGO", "^Tree"}}));
}

}  // namespace
}  // namespace railgauge

// Runs for a finding from the command line: the whole controller and scripted agents over real
// gRPC. Points are synthetic: each node "measures" its script's figure.
#include "controller/gate/finding_runs.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/upgrade_gate.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::UpgradeGate;

// A rerun of a series sets this parameter.
void add_sizes(api::Hello& hello) {
  for (std::string& bytes : *hello.mutable_kernels()) {
    KernelInfo kernel;
    ASSERT_TRUE(kernel.ParseFromString(bytes));
    ParameterInfo& sizes = *kernel.add_parameters();
    sizes.set_name("sizes");
    sizes.set_type("bytes_list");
    sizes.set_unit("bytes");
    sizes.set_default_value("8");
    bytes = kernel.SerializeAsString();
  }
}

TEST_F(UpgradeGate, AFindingIsMeasuredAgainWithAControlBesideIt) {
  change_hello_ = add_sizes;
  for (const char* name : {"n1", "n2", "n3", "n4"}) boot(name, "6.1.0");
  lose_by_upgrade();
  const std::string id = upgrade_ + "-performance";
  EXPECT_EQ(cli("findings rerun " + id), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("rerun"));
  const auto becomes = [&](const std::string& words) {
    for (int i = 0; i < 200; ++i) {
      if (cli("findings show " + id + " --format json") == 0 &&
          said_.find(words) != std::string::npos)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  };
  EXPECT_TRUE(becomes("\"confirmation\": \"confirmed\"")) << said_;
  EXPECT_EQ(cli("findings rerun " + id + " --control"), 0) << said_;
  EXPECT_TRUE(becomes("\"kind\": \"control\"")) << said_;
  ASSERT_EQ(cli("runs --limit 1 --format json"), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("n3"), HasSubstr("n4"), testing::Not(HasSubstr("\"n1\""))));
  EXPECT_EQ(cli("findings rerun nothing-of-that-name"), 2) << said_;
}

}  // namespace
}  // namespace railgauge

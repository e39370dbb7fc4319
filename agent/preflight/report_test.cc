#include "agent/preflight/report.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/testing/sample_node.h"
#include "agent/preflight/text.h"
#include "controller/api/preflight.h"
#include "kernels/core/text/json.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

api::PreflightReport report_of(const Inventory& node, std::set<std::string> required = {}) {
  return make_preflight_report(
      "n1", {.node = node, .required = std::move(required), .now_unix_seconds = 1.7e9}, 0.25);
}

TEST(PreflightReport, ANodeInOrderHasNoFailureAndEveryCheckAnAnswer) {
  const api::PreflightReport report = report_of(sample_node());
  for (const Check& check : all_checks())
    EXPECT_TRUE(std::ranges::any_of(report.checks(), [&](const api::PreflightCheck& one) {
      return one.id() == check.id && one.node() == "n1" && !one.observed().empty();
    })) << check.id;
  EXPECT_EQ(api::preflight_exit_code(report, {}), 0) << preflight_text(report);
  EXPECT_EQ(report.nodes(0).checked_at(), "2023-11-14T22:13:20Z");
  EXPECT_EQ(report.nodes(0).state(), "unknown");  // the registration was not tried
}

TEST(PreflightReport, AFactThatWasNotReadNamesTheLateSources) {
  Inventory node = sample_node();
  node.rdma[0].ports[0] = {.port = 1};
  node.late_sources = {"rdma mlx5_0"};
  const api::PreflightReport report = report_of(node);
  const auto port = std::ranges::find_if(report.checks(), [](const api::PreflightCheck& one) {
    return one.id() == "port_state" && one.state() == "unknown";
  });
  ASSERT_NE(port, report.checks().end());
  EXPECT_EQ(port->observed(), "the port's state is not known; not read in time: rdma mlx5_0");
}

TEST(PreflightReport, ARequiredCheckThatIsNoneIsAnError) {
  const api::PreflightReport report = report_of(sample_node(), {"warp_drive"});
  EXPECT_EQ(api::preflight_exit_code(report, {.require = {"warp_drive"}}), 4);
}

TEST(PreflightReport, BytesThatAreNoTextSpoilTheirOwnFactAlone) {
  Inventory node = sample_node();
  node.gpus[0].model.value = "NVIDIA \xff\xfe\x01 H100";
  node.gpu_driver.value = std::string(100'000, '\x80');
  const api::PreflightReport report = report_of(node);
  std::string wire;
  EXPECT_TRUE(report.SerializeToString(&wire));
  EXPECT_TRUE(api::PreflightReport().ParseFromString(wire));
  EXPECT_THAT(preflight_text(report), Not(HasSubstr("\x01")));
}

TEST(PreflightText, ShowsWhatDidNotPassThePairsAndWhatToDo) {
  Inventory node = sample_node();
  node.nets[0].mtu_bytes.value = 1500;
  const std::string text = preflight_text(report_of(node));
  EXPECT_THAT(text, HasSubstr("n1: unknown ("));
  EXPECT_THAT(text, HasSubstr("warn    mtu "));
  EXPECT_THAT(text, Not(HasSubstr("pass    ")));
  EXPECT_THAT(text, HasSubstr("gpu0 mlx5_0 PIX: GPUDirect: not proven"));
  EXPECT_THAT(text, HasSubstr("    ip link set ens1 mtu 9000\n"));
}

}  // namespace
}  // namespace railgauge::agent

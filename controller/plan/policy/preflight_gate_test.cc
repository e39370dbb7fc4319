#include "controller/plan/policy/preflight_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

NodePreflight node_with(std::vector<GateCheck> checks) {
  return {.node = "n1", .error = "", .checks = std::move(checks)};
}

PreflightGate requiring(std::vector<std::string> ids) { return {.require = std::move(ids)}; }

TEST(PreflightGate, PassWarnAndWaivedPass) {
  const auto node = node_with({{.id = "acs", .state = "pass"},
                               {.id = "iommu", .state = "warn"},
                               {.id = "xid", .state = "waived"}});
  EXPECT_EQ(refusal_of(requiring({"acs", "iommu", "xid"}), node), std::nullopt);
}

TEST(PreflightGate, AFailedCheckIsNamedWithItsSubjectAndFact) {
  const auto node =
      node_with({{.id = "port_state", .subject = "mlx5_0:1", .state = "pass"},
                 {.id = "port_state", .subject = "mlx5_1:1", .state = "fail", .observed = "DOWN"}});
  EXPECT_EQ(refusal_of(requiring({"port_state"}), node),
            "preflight: port_state fail of mlx5_1:1 (DOWN)");
}

TEST(PreflightGate, AnErrorRefusesLikeAFailure) {
  EXPECT_THAT(refusal_of(requiring({"acs"}), node_with({{.id = "acs", .state = "error"}})),
              Optional(HasSubstr("acs error")));
}

TEST(PreflightGate, UnknownPassesOnlyWhereItIsAllowed) {
  const auto node = node_with({{.id = "acs", .state = "unknown"}});
  PreflightGate gate = requiring({"acs"});
  EXPECT_THAT(refusal_of(gate, node), Optional(HasSubstr("acs unknown")));
  gate.allow_unknown = {"acs"};
  EXPECT_EQ(refusal_of(gate, node), std::nullopt);
}

TEST(PreflightGate, ACheckThatAnOlderAgentDoesNotHaveDoesNotPass) {
  EXPECT_EQ(refusal_of(requiring({"acs"}), node_with({})), "preflight: acs was not answered");
}

TEST(PreflightGate, AStateThatIsNoneDoesNotPass) {
  EXPECT_NE(refusal_of(requiring({"acs"}), node_with({{.id = "acs", .state = "fine"}})),
            std::nullopt);
}

TEST(PreflightGate, ANodeWithoutAnAnswerIsRefusedOnlyIfSomethingIsRequired) {
  const NodePreflight silent{.node = "n1", .error = "not attached"};
  EXPECT_EQ(refusal_of({}, silent), std::nullopt);
  EXPECT_EQ(refusal_of(requiring({"acs"}), silent), "preflight: no answer: not attached");
}

TEST(PreflightGate, AReasonNamesThreeChecksAndCountsTheRest) {
  const auto reason = refusal_of(requiring({"a", "b", "c", "d", "e"}), node_with({}));
  EXPECT_THAT(reason, Optional(HasSubstr("c was not answered and 2 more")));
}

TEST(PreflightGate, AdmissionKeepsTheOrderAndTellsWhoWasRefused) {
  std::vector<NodePreflight> nodes{node_with({{.id = "acs", .state = "pass"}}),
                                   node_with({{.id = "acs", .state = "fail"}}),
                                   node_with({{.id = "acs", .state = "pass"}})};
  nodes[1].node = "n2";
  nodes[2].node = "n3";
  const Admission admission = admit(requiring({"acs"}), nodes);
  EXPECT_THAT(admission.admitted, ElementsAre("n1", "n3"));
  ASSERT_EQ(admission.refused.size(), 1U);
  EXPECT_EQ(admission.refused[0].node, "n2");
}

}  // namespace
}  // namespace railgauge::plan

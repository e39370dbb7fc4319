#include "controller/report/proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::report {
namespace {

using testing::ElementsAre;

TEST(Proposal, NamesItsNodesFoldedAndIsReadBack) {
  Proposal proposal{.to = "gpu_driver -> 580.95", .why_not = "no before side"};
  for (int i = 1; i <= 3; ++i) proposal.nodes.push_back("gpu00" + std::to_string(i));
  const std::string text = proposal_text(proposal, 600);
  EXPECT_EQ(text,
            "gpu[001-003] changed gpu_driver -> 580.95 and stayed so for 10 minutes; railgauge "
            "upgrades gate --nodes gpu[001-003] says what it cost; not measured by policy: no "
            "before side");
  const auto read = proposal_of(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nodes, proposal.nodes);
  EXPECT_EQ(read->to, proposal.to);
  EXPECT_EQ(read->why_not, proposal.why_not);
}

TEST(Proposal, OfAnEarlierReleaseHasAListOfNames) {
  const auto read = proposal_of(
      "n1, n2 changed linux_kernel -> 6.5.0 and stayed so for 10 minutes; railgauge upgrades gate "
      "--nodes n1,n2 says what it cost");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(read->why_not, "");
}

TEST(Proposal, OfAnotherFormIsNone) {
  EXPECT_FALSE(proposal_of(""));
  EXPECT_FALSE(proposal_of("n1 changed x and stayed so for 10 minutes"));
  EXPECT_FALSE(
      proposal_of("n1 changed x and stayed so for 1 minutes; railgauge upgrades gate --nodes n[1 "
                  "says what it cost"));
}

TEST(Proposal, OfTheSameCohortHasTheSameKeyWhateverTheReason) {
  const Proposal one{.nodes = {"n1", "n2"}, .to = "x", .why_not = "busy"};
  const Proposal two{.nodes = {"n2", "n1"}, .to = "x", .why_not = "no before side"};
  EXPECT_EQ(cohort_key(one), cohort_key(two));
  EXPECT_NE(cohort_key(one), cohort_key({.nodes = {"n1", "n2"}, .to = "x"}));
  EXPECT_NE(cohort_key(one), cohort_key({.nodes = {"n1"}, .to = "x", .why_not = "busy"}));
}

}  // namespace
}  // namespace railgauge::report

// Each check on a healthy node, on a faulty one, and on one without the fact. The node is synthetic
// (testing/sample_node.h).
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/rules/check.h"
#include "agent/preflight/testing/cases.h"

namespace railgauge::agent {

void PrintTo(CheckState state, std::ostream* out) { *out << text_of(state); }

namespace {

using testing::HasSubstr;

// Results of one check, by how much they matter.
int weight(CheckState state) {
  switch (state) {
    case CheckState::kWaived:
      return 0;
    case CheckState::kPass:
      return 1;
    case CheckState::kWarn:
      return 2;
    case CheckState::kUnknown:
      return 3;
    case CheckState::kError:
      return 4;
    case CheckState::kFail:
      break;
  }
  return 5;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (auto cases : {memory_cases(), path_cases(), fabric_cases(), health_cases(), host_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

class Checks : public testing::TestWithParam<Case> {};

TEST_P(Checks, SaysWhatTheNodeIs) {
  const Case& one = GetParam();
  World world;
  one.change(world);
  const Check* check = find_check(one.check);
  ASSERT_NE(check, nullptr) << one.check;
  const CheckResults results = check->judge(world.input());
  ASSERT_FALSE(results.empty());
  const auto worst = std::ranges::max_element(
      results, {}, [](const CheckResult& result) { return weight(result.state); });
  EXPECT_EQ(worst->state, one.state) << worst->subject << ": " << worst->observed;
  std::string observed;
  for (const CheckResult& result : results)
    observed += fmt::format("{}: {}\n", result.subject, result.observed);
  EXPECT_THAT(observed, HasSubstr(one.says));
  EXPECT_THAT(fmt::format("{}", fmt::join(worst->remedy, "\n")), HasSubstr(one.remedy));
  if (worst->state == kFail || worst->state == kWarn) {
    EXPECT_FALSE(worst->remedy.empty() && one.remedy[0] != 0) << "a fault without a remedy";
    EXPECT_FALSE(worst->source.empty()) << "a fact without its source";
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCase, Checks, testing::ValuesIn(all_cases()), [](const auto& each) {
  return fmt::format("{}_{}_{}", each.param.check, text_of(each.param.state), each.index);
});

TEST(CheckTable, HasThirtySevenChecksWithDistinctIds) {
  std::set<std::string_view> ids;
  for (const Check& check : all_checks()) {
    ids.insert(check.id);
    EXPECT_FALSE(check.title.empty());
    EXPECT_FALSE(check.why.empty());
  }
  EXPECT_EQ(all_checks().size(), 37U);
  EXPECT_EQ(ids.size(), all_checks().size());
}

TEST(CheckTable, AnEmptyInventoryNeverPassesAnythingThatItDoesNotKnow) {
  const Inventory nothing;
  const CheckInput input{.node = nothing};
  for (const Check& check : all_checks())
    for (const CheckResult& result : check.judge(input)) {
      EXPECT_NE(result.state, kFail) << check.id << ": " << result.observed;
      EXPECT_NE(result.state, kPass) << check.id << ": " << result.observed;
    }
}

TEST(CheckTable, AcsRemedyNamesTheExactPortsTheBootWayAndTheCost) {
  World world;
  for (const char* port : {kSampleGpuPort, kSampleNicPort})
    world.node.pci[port].config.acs.value.control = 0x1d;
  const CheckResults results = judge_acs(world.input());
  ASSERT_EQ(results.size(), 1U);
  const std::string text = fmt::format("{}", fmt::join(results[0].remedy, "\n"));
  EXPECT_THAT(text, HasSubstr("setpci -s 0000:17:00.0 ECAP_ACS+6.w=0001"));
  EXPECT_THAT(text, HasSubstr("ExecStart=/usr/bin/env setpci -s 0000:17:01.0 ECAP_ACS+6.w=0001"));
  EXPECT_THAT(text, HasSubstr("pci=config_acs=x0000xx@0000:17:00.0;x0000xx@0000:17:01.0"));
  EXPECT_THAT(text, HasSubstr("cost"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0000:16:00.0")));
}

TEST(CheckTable, DataDirectPortsMustRedirectAsThatPlatformNeedsIt) {
  World world;
  PciDevice dma = world.node.pci[kSampleNic];
  dma.address = "0000:19:00.1";
  dma.device.value = 0x2100;
  world.node.pci[dma.address] = dma;
  PciDevice& root = world.node.pci["0000:15:01.0"];
  root.config.acs = world.node.pci[kSampleGpuPort].config.acs;
  const CheckResults clear = judge_acs(world.input());  // is wrong there
  ASSERT_EQ(clear.size(), 1U);
  EXPECT_EQ(clear[0].state, kFail);
  EXPECT_EQ(clear[0].subject, "gpu0");
  const std::string remedy = fmt::format("{}", fmt::join(clear[0].remedy, "\n"));
  EXPECT_THAT(remedy, HasSubstr(R"(&pci=config_acs=\\"xx111x0@0000:15:01.0;xx101x1@0000:17:00.0;)"
                                R"(xx110x1@0000:17:01.0\\" /)"));
  EXPECT_THAT(remedy, testing::Not(HasSubstr("setpci")));  // too late for the IOMMU groups
  root.config.acs.value.control =
      kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding;
  world.node.pci[kSampleGpuPort].config.acs.value.control =
      kAcsSourceValidation | kAcsRequestRedirect | kAcsUpstreamForwarding;
  world.node.pci[kSampleNicPort].config.acs.value.control =
      kAcsSourceValidation | kAcsCompletionRedirect | kAcsUpstreamForwarding;
  EXPECT_EQ(judge_acs(world.input())[0].state, kPass);
}

}  // namespace
}  // namespace railgauge::agent

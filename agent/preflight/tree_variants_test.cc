// Each check from the files up: a node in order passes, and a copy with one fault or one file less
// does not. The trees are synthetic.
#include <map>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/check.h"
#include "agent/preflight/testing/tree_report.h"
#include "agent/preflight/testing/tree_variants.h"
#include "agent/preflight/text.h"
#include "agent/testing/node_tree.h"
#include "agent/testing/read_tree.h"

namespace railgauge::agent {
namespace {

constexpr const char* kBase = "one_rail";

class Variants : public testing::TestWithParam<TreeVariant> {};

TEST_P(Variants, TheCheckSaysWhatTheCopyWasBrokenFor) {
  const TreeVariant& variant = GetParam();
  NodeTree tree(variant.base);
  tree.apply(variant.edits);
  const api::PreflightReport report = report_on(read_tree(tree), variant.required);
  EXPECT_EQ(state_of(report, variant.check), variant.state)
      << variant.edits << preflight_text(report).substr(0, 4000);
}

INSTANTIATE_TEST_SUITE_P(Nodes, Variants, testing::ValuesIn(tree_variants()), [](const auto& each) {
  return std::string(each.param.check) + "_" + each.param.state + "_" + std::to_string(each.index);
});

// What no file of a tree can tell; other tests do: probe_test and worker_test a registration,
// nvml_facts_test and checks_test what NVML tells (the memory's size too), dcb_test flow control.
const std::set<std::string_view> kNotByFiles{"gpudirect_registration", "gpu_ecc", "gpu_mode",
                                             "gpu_clocks", "nvlink"};
const std::set<std::string_view> kPassesByOthers{"lossless", "bar1_size"};
// A record that nothing can spoil but its absence.
const std::set<std::string_view> kNeverBad{"versions"};

TEST(VariantTable, ANodeInOrderPassesEveryCheckThatFilesTell) {
  const api::PreflightReport report = report_on(read_tree(kBase));
  for (const Check& check : all_checks()) {
    const bool by_files = !kNotByFiles.contains(check.id) && !kPassesByOthers.contains(check.id);
    EXPECT_EQ(state_of(report, std::string(check.id)), by_files ? "pass" : "unknown") << check.id;
  }
}

TEST(VariantTable, EveryCheckThatFilesTellHasABrokenCopyAndOneThatDoesNotTell) {
  std::map<std::string_view, std::set<std::string_view>> seen;
  for (const TreeVariant& variant : tree_variants()) {
    EXPECT_NE(find_check(variant.check), nullptr) << variant.check;
    seen[variant.check].insert(variant.state);
  }
  for (const Check& check : all_checks()) {
    if (kNotByFiles.contains(check.id)) continue;
    const auto& states = seen[check.id];
    EXPECT_TRUE(states.contains("fail") || states.contains("warn") || kNeverBad.contains(check.id))
        << check.id;
    EXPECT_TRUE(states.contains("unknown")) << check.id;
  }
}

}  // namespace
}  // namespace railgauge::agent

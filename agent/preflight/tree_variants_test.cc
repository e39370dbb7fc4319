// Each check from files to result: a healthy node passes, and a copy with one fault or one missing
// file does not. The trees are synthetic.
#include <map>
#include <set>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/rules/check.h"
#include "agent/preflight/testing/tree_report.h"
#include "agent/preflight/testing/tree_variants.h"
#include "agent/preflight/testing/warn_at_most.h"
#include "agent/preflight/testing/whole_tree.h"
#include "agent/preflight/text.h"
#include "agent/testing/node_tree.h"

namespace railgauge::agent {
namespace {

constexpr const char* kBase = "one_rail";

class Variants : public testing::TestWithParam<TreeVariant> {};

TEST_P(Variants, TheCheckSaysWhatTheCopyWasBrokenFor) {
  const TreeVariant& variant = GetParam();
  NodeTree tree(variant.base);
  tree.apply(variant.edits);
  const api::PreflightReport report = report_on_whole(tree, variant.required);
  EXPECT_EQ(state_of(report, variant.check), variant.state)
      << variant.edits << preflight_text(report).substr(0, 4000);
}

INSTANTIATE_TEST_SUITE_P(Nodes, Variants, testing::ValuesIn(tree_variants()), [](const auto& each) {
  return std::string(each.param.check) + "_" + each.param.state + "_" + std::to_string(each.index);
});

TEST(VariantTable, ANodeInOrderPassesEveryCheck) {
  const NodeTree tree(kBase);
  const api::PreflightReport report = report_on_whole(tree);
  for (const Check& check : all_checks())
    EXPECT_EQ(state_of(report, std::string(check.id)), "pass")
        << check.id << "\n"
        << preflight_text(report).substr(0, 4000);
}

// A check without its three fixtures fails here, a new one too.
TEST(VariantTable, EveryCheckHasAPassingABrokenAndASilentTree) {
  std::map<std::string_view, std::set<std::string_view>> seen;
  for (const TreeVariant& variant : tree_variants()) {
    EXPECT_NE(find_check(variant.check), nullptr) << variant.check;
    seen[variant.check].insert(variant.state);
  }
  for (const Check& check : all_checks()) {
    std::set<std::string_view> states = seen[check.id];
    states.insert("pass");  // the base: the test above
    EXPECT_EQ(lacking(check.id, states), "") << check.id;
  }
}

}  // namespace
}  // namespace railgauge::agent

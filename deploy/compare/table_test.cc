#include "deploy/compare/table.h"

#include <gtest/gtest.h>

namespace railgauge::compare {
namespace {

// Nine launches around `level`, in a pattern that pairs of rows do not share.
std::vector<double> launches(double level, int shift) {
  std::vector<double> out;
  for (int i = 0; i < 9; ++i) out.push_back(level * (1 + 0.02 * (((i * 4 + shift) % 9) - 4) / 4.0));
  return out;
}

Judged judged(Expectation expectation, double ours, double theirs) {
  return *judge({"row", expectation, launches(ours, 0), launches(theirs, 5)});
}

TEST(CompareTable, PassesEqualProgramsAndFailsASlowOne) {
  EXPECT_EQ(judged(Expectation::kEqual, 100, 100).verdict, Verdict::kPassed);
  EXPECT_EQ(judged(Expectation::kEqual, 104, 100).verdict, Verdict::kPassed);  // within 5 %
  EXPECT_EQ(judged(Expectation::kEqual, 120, 100).verdict, Verdict::kFailed);
}

TEST(CompareTable, SaysNothingWhenTheIntervalIsWide) {
  const Row wild{"row",
                 Expectation::kEqual,
                 {60, 150, 80, 140, 120, 200, 70, 160, 110},
                 std::vector<double>(9, 100.0)};
  EXPECT_EQ(judge(wild)->verdict, Verdict::kNoisy);
}

TEST(CompareTable, CallsUnequalOnlyWhatLiesBeyondFivePercentAsAWhole) {
  const Judged near = judged(Expectation::kEqual, 107, 100);
  ASSERT_GT(near.ratio.low, 1);
  ASSERT_LT(near.ratio.low, 1.05);
  EXPECT_EQ(near.verdict, Verdict::kNoisy);
  EXPECT_EQ(judged(Expectation::kEqual, 80, 100).verdict, Verdict::kFailed);
  EXPECT_EQ(judged(Expectation::kEqual, 94, 100).verdict, Verdict::kNoisy);
}

TEST(CompareTable, IsInvalidWhenAControlFailsWhateverTheRest) {
  const Judged good = judged(Expectation::kEqual, 100, 100);
  const Judged slow = judged(Expectation::kEqual, 120, 100);
  EXPECT_EQ(judged(Expectation::kHoldsOne, 120, 100).verdict, Verdict::kInvalid);
  EXPECT_EQ(judged(Expectation::kExcludesOne, 100, 100).verdict, Verdict::kInvalid);
  EXPECT_EQ(judged(Expectation::kExcludesOne, 80, 100).verdict,
            Verdict::kInvalid);  // faster by a cost
  EXPECT_EQ(overall({good, judged(Expectation::kExcludesOne, 100, 100)}), Verdict::kInvalid);
  EXPECT_EQ(overall({good, slow}), Verdict::kFailed);
  EXPECT_EQ(overall({good, judged(Expectation::kExcludesOne, 120, 100)}), Verdict::kPassed);
  EXPECT_EQ(overall({}), Verdict::kInvalid);
}

TEST(CompareTable, ReadsLaunchesAndNamesABadLine) {
  const auto rows = parse("lat\tequal\tours\t1.5\nlat\tequal\ttheirs\t2\nlat\tequal\tours\t3\n");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].ours, (std::vector<double>{1.5, 3}));
  EXPECT_EQ((*rows)[0].theirs, (std::vector<double>{2}));
  EXPECT_NE(parse("lat\tequal\tours\t1.5\nlat\tequal\tours\tfast\n").error().message.find("line 2"),
            std::string::npos);
  EXPECT_FALSE(parse("lat\tmaybe\tours\t1\n"));
}

}  // namespace
}  // namespace railgauge::compare

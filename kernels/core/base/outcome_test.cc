#include "kernels/core/base/outcome.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(OutcomeOf, MissingThingsWaiveWrongBytesFailTheRestCrashed) {
  for (const Code code :
       {Code::kUnimplemented, Code::kNotFound, Code::kFailedPrecondition, Code::kPermissionDenied})
    EXPECT_EQ(outcome_of(code), kWaived) << static_cast<int>(code);
  EXPECT_EQ(outcome_of(Code::kDataLoss), kFailed);
  EXPECT_EQ(outcome_of(Code::kDeadlineExceeded), kTimedOut);
  EXPECT_EQ(outcome_of(Code::kCancelled), kCancelledOutcome);
  for (const Code code : {Code::kUnknown, Code::kInvalidArgument, Code::kAlreadyExists,
                          Code::kResourceExhausted, Code::kAborted, Code::kOutOfRange,
                          Code::kInternal, Code::kUnavailable, Code::kUnauthenticated})
    EXPECT_EQ(outcome_of(code), kCrashed) << static_cast<int>(code);
}

TEST(ExitCodeOf, FollowsTheOutcomeAndWrongUseIsTwo) {
  EXPECT_EQ(exit_code_of(kPassed), 0);
  EXPECT_EQ(exit_code_of(kFailed), 1);
  EXPECT_EQ(exit_code_of(kWaived), 5);
  EXPECT_EQ(exit_code_of(kCancelledOutcome), 130);
  EXPECT_EQ(exit_code_of(kCrashed), 4);
  EXPECT_EQ(exit_code_of(kTimedOut), 4);
  EXPECT_EQ(exit_code_of("no outcome"), 4) << "an unknown word never passes";
  EXPECT_EQ(exit_code_of(Error{Code::kInvalidArgument, ""}), 2);
  EXPECT_EQ(exit_code_of(Error{Code::kUnavailable, ""}), 4);
  EXPECT_EQ(exit_code_of(Error{Code::kNotFound, ""}), 5);
}

TEST(CombineExitCodes, TakesTheFirstOfTheOrder) {
  const std::vector<int> order{130, 143, 2, 1, 4, 3};
  for (std::size_t first = 0; first < order.size(); ++first) {
    std::vector<int> mixture(order.begin() + static_cast<std::ptrdiff_t>(first), order.end());
    mixture.insert(mixture.end(), {5, 0});
    std::ranges::reverse(mixture);
    EXPECT_EQ(combine_exit_codes(mixture), order[first]);
  }
}

TEST(CombineExitCodes, PassedPlusWaivedIsPassed) {
  EXPECT_EQ(combine_exit_codes(std::vector{0, 5}), 0);
  EXPECT_EQ(combine_exit_codes(std::vector{5, 0, 0}), 0);
  EXPECT_EQ(combine_exit_codes(std::vector{5, 5}), 5);
  EXPECT_EQ(combine_exit_codes(std::vector{0}), 0);
}

TEST(CombineExitCodes, NothingAtAllNeverPasses) { EXPECT_EQ(combine_exit_codes({}), 4); }

}  // namespace
}  // namespace railgauge

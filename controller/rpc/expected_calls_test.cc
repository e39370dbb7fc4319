#include "controller/rpc/expected_calls.h"

#include <gtest/gtest.h>

namespace railgauge::rpc {
namespace {

TEST(ExpectedCalls, OneThatCameHasBegunAndOneThatDidNotComeNeverDoes) {
  ExpectedCalls calls;
  calls.expect("a");
  calls.expect("b");
  EXPECT_TRUE(calls.begin("a"));
  EXPECT_TRUE(calls.has_begun("a"));
  EXPECT_FALSE(calls.has_begun("b"));
  EXPECT_FALSE(calls.begin("b")) << "it comes late";
  EXPECT_FALSE(calls.has_begun("b"));
  EXPECT_TRUE(calls.begin("fd:7")) << "nobody expects it";
}

TEST(ExpectedCalls, FewAreRemembered) {
  ExpectedCalls calls;
  for (std::size_t i = 0; i <= ExpectedCalls::kMostGivenUp; ++i) {
    calls.expect(std::to_string(i));
    EXPECT_FALSE(calls.has_begun(std::to_string(i)));
  }
  EXPECT_TRUE(calls.begin("0")) << "the oldest is forgotten";
  EXPECT_FALSE(calls.begin("1"));
}

}  // namespace
}  // namespace railgauge::rpc

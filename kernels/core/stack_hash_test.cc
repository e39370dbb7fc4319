#include "kernels/core/stack_hash.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {
using Part = std::map<std::string, std::string>;

TEST(StackHash, TheSameWordsHaveTheSameHash) {
  EXPECT_EQ(stack_hash(Part{{"a", "1"}, {"b", "2"}}), stack_hash(Part{{"b", "2"}, {"a", "1"}}));
  EXPECT_EQ(stack_hash(Part{}).size(), 16u);
}

TEST(StackHash, AnyOtherWordChangesIt) {
  const std::string before = stack_hash(Part{{"a", "1"}, {"b", "2"}});
  EXPECT_NE(stack_hash(Part{{"a", "1"}, {"b", "3"}}), before);
  EXPECT_NE(stack_hash(Part{{"a", "1"}, {"c", "2"}}), before);
  EXPECT_NE(stack_hash(Part{{"a", "1"}}), before);
}

TEST(StackHash, AVersionIsNoSetting) {
  EXPECT_NE(stack_hash(Part{{"a", "1"}}, Part{}), stack_hash(Part{}, Part{{"a", "1"}}));
}

// A value that is stored on disk and compared for years must not change with the compiler.
TEST(StackHash, IsTheOneThatItAlwaysWas) { EXPECT_EQ(stack_hash(Part{}), "cbf29ce484222325"); }

}  // namespace
}  // namespace railgauge

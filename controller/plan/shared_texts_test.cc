#include "controller/plan/shared_texts.h"

#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

TEST(SharedTexts, ACopyThatIsChangedLeavesTheOthersAsTheyWere) {
  const SharedTexts stage(SharedTexts::Map{{"depth", "16"}});
  SharedTexts task = stage;
  EXPECT_EQ(&task.all(), &stage.all()) << "copies are one map";
  task.set("gpu", "3");
  EXPECT_EQ(task.at("depth"), "16");
  EXPECT_EQ(task.at("gpu"), "3");
  EXPECT_FALSE(stage.contains("gpu"));
}

TEST(SharedTexts, EqualTextsAreEqualWhoeverMadeThem) {
  SharedTexts one;
  EXPECT_EQ(one, SharedTexts());
  one.set("depth", "16");
  EXPECT_EQ(one, SharedTexts(SharedTexts::Map{{"depth", "16"}}));
  EXPECT_NE(one, SharedTexts());
}

}  // namespace
}  // namespace railgauge::plan

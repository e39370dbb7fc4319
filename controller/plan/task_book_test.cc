#include "controller/plan/task_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/testing/outline_testing.h"

namespace railgauge::plan {
namespace {

// Seven rounds of four tasks.
TaskBook book_of_eight_nodes() {
  auto outline =
      PlanOutline::make(suite_of({pairs_stage({})}), some_nodes(8), fake_kernels(), {}, {});
  RG_CHECK(outline);
  return TaskBook(std::move(*outline));
}

TEST(TaskBook, ATaskIsThatOfThePlanWhateverWasAskedForBefore) {
  const TaskBook book = book_of_eight_nodes();
  const auto plan = make_plan(book.outline());
  ASSERT_TRUE(plan);
  ASSERT_EQ(book.size(), plan->tasks.size());
  for (std::size_t i = 0; i < 3 * book.size(); ++i) {
    const std::size_t index = i * 11 % book.size();
    EXPECT_EQ(book.at(index)->id, plan->tasks[index].id);
    EXPECT_EQ(text_of(book.at(index)->ranks[1]), text_of(plan->tasks[index].ranks[1]));
  }
}

TEST(TaskBook, ATaskOutlivesTheRoundsThatAreKept) {
  const TaskBook book = book_of_eight_nodes();
  const TaskHandle first = book.at(0);
  for (std::size_t index = 1; index < book.size(); ++index) static_cast<void>(book.at(index));
  EXPECT_EQ(first->id, "t0001");
  EXPECT_NE(book.at(0), first) << "made again";
}

TEST(TaskBook, AddedTasksComeAfterThePlannedOnes) {
  TaskBook book = book_of_eight_nodes();
  EXPECT_EQ(book.add({.id = "x0001"}), book.planned());
  EXPECT_EQ(book.add({.id = "x0002"}), book.planned() + 1);
  EXPECT_EQ(book.size(), book.planned() + 2);
  EXPECT_EQ(book.at(book.planned() + 1)->id, "x0002");
}

TEST(TaskBook, IdsOfPlannedTasksAloneHaveAnIndex) {
  EXPECT_EQ(index_of_id("t0001"), 0u);
  EXPECT_EQ(index_of_id("t3000000"), 2'999'999u);
  for (const char* id : {"", "t", "t0000", "x0001", "t12x", "t-1", "t99999999999999999999"})
    EXPECT_EQ(index_of_id(id), std::nullopt) << id;
}

}  // namespace
}  // namespace railgauge::plan

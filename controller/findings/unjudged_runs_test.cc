// Runs that nobody judged at their end.
#include <gmock/gmock.h>

#include "controller/findings/run_judge.h"
#include "controller/store/queries/remarks.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNow = 1.7e9;

class UnjudgedRunsTest : public testing::Test {
 protected:
  void end(const std::string& run_id, double at) {
    store::plan_run(*store_, run_id, 1);
    ASSERT_TRUE(store_->update_run(
        {.run_id = run_id, .state = store::RunState::kEnded, .outcome = "passed", .ended_at = at}));
    ASSERT_TRUE(store_->flush());
  }
  std::vector<std::string> due(double until = kNow) {
    auto found = unjudged_.due(until);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : std::vector<std::string>();
  }
  std::size_t events() const {
    EXPECT_TRUE(store_->flush());
    std::size_t count = 0;
    const auto rows = store_->list_events(100);
    for (const store::EventRow& event : *rows) count += event.kind == "run_not_judged" ? 1 : 0;
    return count;
  }

  store::TempFolder folder_;
  std::unique_ptr<store::Store> store_ = store::open_store(folder_.file("db"));
  UnjudgedRuns unjudged_{*store_};
};

TEST_F(UnjudgedRunsTest, AreThoseOfTheLastDaysThatEndedWithoutAJudgement) {
  end("old", kNow - UnjudgedRuns::kPastSeconds - 1);
  end("second", kNow - 50);
  end("first", kNow - 100);
  end("later", kNow + 1);
  end("judged", kNow - 70);
  ASSERT_TRUE(store_->write(store::write_judged, std::string("judged"), kNow - 60));
  store::plan_run(*store_, "under-way", 1);
  EXPECT_THAT(due(), ElementsAre("first", "second"));
}

TEST_F(UnjudgedRunsTest, ARunThatFailsEachTimeIsAnEventOnce) {
  end("r1", kNow - 100);
  for (int look = 0; look < UnjudgedRuns::kMostTries; ++look) EXPECT_THAT(due(), ElementsAre("r1"));
  EXPECT_EQ(events(), 0u);
  for (int look = 0; look < 3; ++look) EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(events(), 1u);
}

// Its records are still to come, and have it judged then.
TEST_F(UnjudgedRunsTest, ARunThatARestartCutShortWaitsForItsRecords) {
  store::plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store::append(*store_, "id-1", {store::started_record({.run_id = "r1"})}));
  ASSERT_TRUE(store_->flush());
  store_.reset();
  store_ = store::open_store(folder_.file("db"));
  ASSERT_TRUE(store_->end_interrupted_runs());
  UnjudgedRuns unjudged(*store_);
  const auto found = unjudged.due(4e9);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, IsEmpty());
}

}  // namespace
}  // namespace railgauge

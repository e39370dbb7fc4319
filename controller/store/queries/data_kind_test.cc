#include "controller/store/queries/data_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/data_mark.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

DataKind kind_of(const Store& store) {
  const auto kind = store.read(read_data_kind);
  EXPECT_TRUE(kind) << kind.error().message;
  return kind.value_or(DataKind::kNone);
}

TEST(DataKind, ANodeMakesAnEmptyDatabaseReal) {
  const TempFolder folder;
  const auto store = open_store(folder.file("a.db"));
  EXPECT_EQ(kind_of(*store), DataKind::kNone);
  ASSERT_TRUE(store->put_node(node_row(1)));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(kind_of(*store), DataKind::kReal);
}

TEST(DataKind, TheMarkStaysWhenTheDatabaseIsOpenedAgain) {
  const TempFolder folder;
  {
    const auto store = open_store(folder.file("a.db"));
    ASSERT_TRUE(store->write(mark_synthetic));
    ASSERT_TRUE(store->put_node(node_row(1)));
    ASSERT_TRUE(store->flush());
  }
  const auto store = open_store(folder.file("a.db"));
  EXPECT_EQ(kind_of(*store), DataKind::kSynthetic);
  EXPECT_TRUE(store->write(mark_synthetic)) << "marked already";
}

TEST(DataKind, RealDataIsNeverMarked) {
  const TempFolder folder;
  const auto store = open_store(folder.file("a.db"));
  ASSERT_TRUE(store->put_node(node_row(1)));
  const Status marked = store->write(mark_synthetic);
  ASSERT_FALSE(marked);
  EXPECT_EQ(marked.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(marked.error().message, HasSubstr("a.db: it has data of real nodes"));
  EXPECT_EQ(kind_of(*store), DataKind::kReal);
}

TEST(DataKind, TheLastTimeIsThatOfTheNewestRowOfTheControllersClock) {
  const TempFolder folder;
  double now = 1.7e9;
  const auto store = open_store(folder.file("a.db"), {.clock = [&now] { return now; }});
  const auto last = [&] { return store->read(read_last_time).value_or(-1); };
  EXPECT_EQ(last(), 0);
  ASSERT_TRUE(store->put_node(node_row(1)));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(last(), now);
  now += 60;
  ASSERT_TRUE(store->create_run(run_row("r1"), pair_tasks(1)));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(last(), now);
  ASSERT_TRUE(store->update_run(
      {.run_id = "r1", .state = RunState::kEnded, .outcome = "passed", .ended_at = now + 3600}));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(last(), now + 3600);
}

TEST(DataMark, FollowsTheDatabaseUntilItHasData) {
  const TempFolder folder;
  const auto store = open_store(folder.file("a.db"));
  DataMark mark(*store);
  EXPECT_EQ(mark.is_synthetic(), false);
  ASSERT_TRUE(store->write(mark_synthetic));
  EXPECT_EQ(mark.is_synthetic(), true);
  EXPECT_EQ(mark.is_synthetic(), true);
}

// A kind that cannot be read is not taken for data of real nodes.
TEST(DataMark, IsUnknownWhileTheDatabaseCannotBeReadAndHoldsOnceItIsKnown) {
  Result<DataKind> next = fail(Code::kUnavailable, "disk I/O error");
  DataMark mark([&next] { return next; });
  EXPECT_EQ(mark.is_synthetic(), std::nullopt);
  next = DataKind::kNone;
  EXPECT_EQ(mark.is_synthetic(), false);
  next = fail(Code::kUnavailable, "disk I/O error");
  EXPECT_EQ(mark.is_synthetic(), std::nullopt) << "it may have data by now";
  next = DataKind::kSynthetic;
  EXPECT_EQ(mark.is_synthetic(), true);
  next = fail(Code::kUnavailable, "disk I/O error");
  EXPECT_EQ(mark.is_synthetic(), true);
}

TEST(DataMark, RealDataHasNone) {
  const TempFolder folder;
  const auto store = open_store(folder.file("a.db"));
  ASSERT_TRUE(store->put_node(node_row(1)));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(DataMark(*store).is_synthetic(), false);
}

}  // namespace
}  // namespace railgauge::store

#include "controller/store/outbox/mirror_outbox.h"

#include <gmock/gmock.h>

#include <set>

#include "controller/store/ingest/point_ranges.h"
#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

class OutboxTest : public StoreTest {
 protected:
  void arm() { ASSERT_TRUE(store_->write(arm_mirror)); }
  MirrorState state() { return *store_->read(read_mirror_state); }
  MirrorBatch batch(std::int64_t after = 0, MirrorBounds bounds = {}) {
    auto read = store_->read(read_mirror_batch, after, bounds);
    EXPECT_TRUE(read) << read.error().message;
    return *read;
  }
  static std::size_t rows_of(const MirrorBatch& batch, std::string_view table) {
    for (const MirrorRows& rows : batch.tables)
      if (mirror_tables()[rows.table].name == table) return rows.count();
    return 0;
  }
};

TEST(MirrorTables, AreTablesOfTheStoreWithTheseColumns) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  for (std::size_t table = 0; table < mirror_tables().size(); ++table) {
    const auto page = store->read(walk_mirror_table, table, 0, MirrorBounds{});
    EXPECT_TRUE(page) << page.error().message;
  }
  EXPECT_EQ(mirror_tables()[kPointSource].name, "point");
}

TEST_F(OutboxTest, StaysEmptyWithoutAMirror) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  EXPECT_EQ(state().newest, 0);
}

TEST_F(OutboxTest, HasARowForAStretchOfPointsHoweverLong) {
  plan_run(*store_, "r1", 1);
  arm();
  const std::int64_t before = state().newest;
  std::vector<Record> records{started_record({})};
  for (std::uint32_t i = 1; i <= 100; ++i) records.push_back(point_record({}, i));
  ASSERT_TRUE(append(*store_, "id-1", records));
  EXPECT_LT(state().newest - before, 20);
  EXPECT_EQ(rows_of(batch(), "point"), 100u);
}

TEST_F(OutboxTest, ShowsARowOnceHoweverOftenItChanged) {
  plan_run(*store_, "r1", 1);
  arm();
  for (const double at : {1.0, 2.0, 3.0}) {
    ASSERT_TRUE(store_->update_run({.run_id = "r1", .started_at = at}));
    ASSERT_TRUE(store_->flush());
  }
  const MirrorBatch read = batch();
  EXPECT_EQ(rows_of(read, "run"), 1u);
  EXPECT_EQ(read.entries, 3u);
}

TEST_F(OutboxTest, EndsABatchAtItsBoundAndGoesOnBehindIt) {
  arm();
  plan_run(*store_, "r1", 20);
  std::size_t entries = 0;
  std::int64_t after = 0;
  for (int i = 0; i < 1'000; ++i) {
    const MirrorBatch read = batch(after, {.entries = 3});
    if (read.entries == 0) break;
    EXPECT_LE(read.entries, 3u);
    entries += read.entries;
    after = read.through;
  }
  EXPECT_EQ(entries, batch(0, {.entries = 100'000, .bytes = 1U << 30U}).entries);
  EXPECT_EQ(after, state().newest);
}

TEST_F(OutboxTest, KeepsItsNewestRowWhenItIsTrimmed) {
  arm();
  plan_run(*store_, "r1", 2);
  const std::int64_t newest = state().newest;
  ASSERT_TRUE(store_->write(trim_mirror, newest, 1'000'000, 5.0));
  EXPECT_EQ(state().oldest, newest);
  EXPECT_EQ(state().newest, newest);
  EXPECT_EQ(state().even_at, 5);
}

TEST_F(OutboxTest, IsEmptiedBeyondItsBoundAndAsksForEverything) {
  arm();
  plan_run(*store_, "r1", 20);
  const std::int64_t arming = state().arming;
  ASSERT_TRUE(store_->write(bound_mirror, 1'000'000));
  EXPECT_EQ(state().arming, arming);
  ASSERT_TRUE(store_->write(bound_mirror, 10));
  EXPECT_EQ(state().arming, arming + 1);
  EXPECT_EQ(state().newest, 0);
}

TEST_F(OutboxTest, AsksForEverythingAfterATimeWithoutMirror) {
  arm();
  const std::int64_t arming = state().arming;
  const std::string id = state().store_id;
  reopen();
  arm();
  EXPECT_EQ(state().arming, arming);  // a restart misses nothing
  reopen();
  ASSERT_TRUE(store_->write(disarm_mirror));
  plan_run(*store_, "r1", 1);
  reopen();
  arm();
  EXPECT_EQ(state().arming, arming + 1);
  EXPECT_EQ(state().store_id, id);
}

TEST_F(OutboxTest, WalksATableInPages) {
  plan_run(*store_, "r1", 10);
  const std::size_t table = mirror_table_number("task_rank");
  std::size_t rows = 0;
  std::int64_t after = 0;
  for (;;) {
    const auto page = store_->read(walk_mirror_table, table, after, MirrorBounds{.entries = 3});
    ASSERT_TRUE(page) << page.error().message;
    if (page->entries == 0) break;
    rows += rows_of(*page, "task_rank");
    after = page->through;
  }
  EXPECT_EQ(rows, 20u);
}

}  // namespace
}  // namespace railgauge::store

#include "controller/mirror/archive_rows.h"

#include <gmock/gmock.h>

#include "controller/mirror/archive_schema.h"
#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

class ArchiveRowsTest : public MirrorTest {
 protected:
  void SetUp() override {
    MirrorTest::SetUp();
    if (IsSkipped()) return;
    auto opened = pq::Connection::open({.url = url_});
    ASSERT_TRUE(opened && ensure_schema(**opened));
    archive_ = std::move(*opened);
  }
  std::unique_ptr<pq::Connection> archive_;
};

// Rows come back as the store has them, but for times below a microsecond.
TEST_F(ArchiveRowsTest, AreTheStoresOwnRows) {
  measure("r1", 4);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(archive_->execute("BEGIN"));
  for (const char* name : {"run", "task", "task_rank", "fact_set", "series"}) {
    const std::size_t table = store::mirror_table_number(name);
    std::vector<store::MirrorCell> cells;
    ASSERT_TRUE(read_table(*archive_, 1, table, {}, [&](const store::MirrorRows& rows) -> Status {
      cells.insert(cells.end(), rows.cells.begin(), rows.cells.end());
      return {};
    }));
    const auto page = store_->read(store::walk_mirror_table, table, 0, store::MirrorBounds{});
    ASSERT_TRUE(page);
    EXPECT_EQ(cells.size(), page->tables[0].cells.size()) << name;
  }
}

// A standby that was away gets a long stretch of points in pages, so that it needs no memory for
// it.
TEST_F(ArchiveRowsTest, AStretchOfPointsComesInPages) {
  measure("r1", 1);
  ASSERT_TRUE(drain(*mirror_, *store_));
  ASSERT_TRUE(
      archive_->execute("INSERT INTO railgauge.point (id, measured_at, median, series, site) "
                        "SELECT (7::bigint << 20) "
                        "+ n, to_timestamp(1.7e9), 1, 1, 1 FROM generate_series(1, 25000) n"));
  ASSERT_TRUE(archive_->execute("BEGIN"));
  const std::int64_t first = std::int64_t{7} << 20;
  const std::vector<store::MirrorChange> changes{
      {.source = store::mirror_table_number("point"), .key = first, .last = first + 30'000}};
  std::size_t rows = 0;
  int pages = 0;
  ASSERT_TRUE(read_changed_rows(*archive_, 1, changes[0].source, changes,
                                [&](const store::MirrorRows& page) -> Status {
                                  EXPECT_LE(page.count(), 10'000u);
                                  rows += page.count();
                                  ++pages;
                                  return {};
                                }));
  EXPECT_EQ(rows, 25'000u);
  EXPECT_EQ(pages, 3);
}

TEST_F(ArchiveRowsTest, WithoutALeaseThereAreNoChangesToFollow) {
  measure("r1", 1);
  ASSERT_TRUE(drain(*mirror_, *store_));
  const auto site = read_archived_site(*archive_, "east");
  ASSERT_TRUE(site && *site);
  EXPECT_FALSE((*site)->is_complete);
  EXPECT_EQ((*site)->newest, 0);
  EXPECT_FALSE(*read_archived_site(*archive_, "west"));
}

}  // namespace
}  // namespace railgauge::mirror

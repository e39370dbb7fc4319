// The audit trail's rows stay: every way of SQL to change, replace or delete them is tried.
#include "controller/store/queries/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kDay = 86'400;
constexpr double kNow = 1'764'000'000;

AuditRow row_at(double at, const std::string& who = "ann",
                const std::string& rpc = "Control.GetRun", bool refused = false) {
  return {.at = at, .who = who, .rpc = rpc, .outcome = "ok", .refused = refused};
}

class AuditTest : public testing::Test {
 protected:
  void SetUp() override { store_ = open_store(folder_.file("db")); }
  void add(const AuditRow& row) {
    const Status stored = store_->write(write_audit, row);
    ASSERT_TRUE(stored) << stored.error().message;
  }
  std::vector<AuditRow> rows(AuditFilter filter = {}) {
    filter.limit = 1'000'000;
    const auto rows = store_->read(read_audit, filter);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows.value_or(std::vector<AuditRow>{});
  }
  std::vector<std::string> names(const AuditFilter& filter) {
    std::vector<std::string> names;
    for (const AuditRow& row : rows(filter)) names.push_back(row.who + " " + row.rpc);
    return names;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(AuditTest, NoStatementOfAnotherProgramChangesOrDeletesARow) {
  add(row_at(1));
  add(row_at(2));
  auto shell = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 5);
  ASSERT_TRUE(shell);
  constexpr const char* kForged =
      "INSERT OR REPLACE INTO audit SELECT id, at, call, 'eve', role, address, rpc, subject, "
      "outcome, reason, refused, count FROM audit";
  for (const char* sql :
       {"DELETE FROM audit", "DELETE FROM audit WHERE id=1", "UPDATE audit SET who='eve'",
        "UPDATE OR REPLACE audit SET id=2 WHERE id=1", "UPDATE OR IGNORE audit SET at=0", kForged,
        "REPLACE INTO audit SELECT * FROM audit",
        "INSERT INTO audit SELECT * FROM audit WHERE true ON CONFLICT (id) DO UPDATE SET who='eve'",
        "WITH old AS (SELECT 1) DELETE FROM audit WHERE id IN (SELECT * FROM old)"}) {
    const Status done = shell->script(sql);
    EXPECT_FALSE(done) << sql;
  }
  EXPECT_THAT(shell->script("DELETE FROM audit").error().message,
              HasSubstr("no such function: railgauge_prunes_audit"));
  EXPECT_THAT(shell->script("UPDATE audit SET who='eve'").error().message,
              HasSubstr("rows of the audit trail are never changed"));
  EXPECT_THAT(names({}), ElementsAre("ann Control.GetRun", "ann Control.GetRun"));
}

TEST_F(AuditTest, TheControllersOwnWriterDeletesNothingOutsideOfRetention) {
  add(row_at(1));
  Status (*remove)(Connection&) = [](Connection& writer) {
    return writer.execute("DELETE FROM audit");
  };
  const Status done = store_->write(remove);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              HasSubstr("rows of the audit trail are deleted by retention alone"));
  EXPECT_THAT(rows(), SizeIs(1));
}

TEST_F(AuditTest, AStatementOfAPersonReadsNoRow) {
  add(row_at(1));
  for (const char* sql :
       {"SELECT * FROM audit", "SELECT count(*) FROM audit",
        "SELECT who FROM (SELECT * FROM main.audit)", "SELECT 1 FROM run, \"AUDIT\"",
        "SELECT (SELECT who FROM audit)", "DELETE FROM audit"}) {
    const auto table = store_->sql(sql, 10, 10);
    ASSERT_FALSE(table) << sql;
    EXPECT_EQ(table.error().code, Code::kInvalidArgument) << table.error().message;
  }
  EXPECT_TRUE(store_->sql("SELECT count(*) FROM run", 10, 10));
}

TEST_F(AuditTest, RetentionDeletesOldRowsAndIsARowItself) {
  for (int i = 0; i < 3; ++i) add(row_at(kNow - 500 * kDay + i));
  for (int i = 0; i < 4; ++i) add(row_at(kNow - 10 * kDay + i));
  const auto pruned = store_->prune({.audit_days = 396, .largest_share = 0.5}, kNow);
  ASSERT_TRUE(pruned) << pruned.error().message;
  const auto left = rows();
  ASSERT_THAT(left, SizeIs(5));
  EXPECT_EQ(left.front().rpc, "retention");
  EXPECT_EQ(left.front().who, "controller");
  EXPECT_THAT(left.front().subject, HasSubstr("audit trail: 3 rows from 2024-07-12T16:00:00"));
  EXPECT_THAT(left.front().subject, HasSubstr(" deleted"));
  ASSERT_TRUE(store_->prune({.audit_days = 396, .largest_share = 0.5}, kNow));
  EXPECT_THAT(rows(), SizeIs(5)) << "nothing is old, so nothing is added";
}

TEST_F(AuditTest, AClockFarAheadDeletesNothing) {
  for (int i = 0; i < 4; ++i) add(row_at(kNow + i));
  const auto pruned = store_->prune({.audit_days = 396, .largest_share = 0.5}, kNow + 1'000 * kDay);
  ASSERT_FALSE(pruned);
  EXPECT_THAT(pruned.error().message, HasSubstr("4 of 4 rows of the audit trail are too old"));
  EXPECT_THAT(rows(), SizeIs(4));
}

TEST_F(AuditTest, APruningThatDoesNotNameTheTrailLeavesIt) {
  add(row_at(1));
  ASSERT_TRUE(store_->prune({.raw_sample_days = 1, .distribution_days = 1, .point_days = 1}, kNow));
  EXPECT_THAT(rows(), SizeIs(1));
}

TEST_F(AuditTest, RefusedCallsBeyondTheirBoundGoFirst) {
  for (int i = 0; i < 10; ++i) add(row_at(kNow - 100 + i, "bob", "Control.StartRun", true));
  add(row_at(kNow - 50));
  auto writer = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 5);
  ASSERT_TRUE(writer);
  AuditRetention retention;
  ASSERT_TRUE(retention.join(*writer));
  const AuditPruning pruning{.before = kNow - 1'000, .now = kNow, .most = 4, .max_refused = 3};
  ASSERT_TRUE(writer->script("BEGIN"));
  EXPECT_EQ(*prune_audit(*writer, retention, pruning), 4);
  EXPECT_EQ(*prune_audit(*writer, retention, pruning), 3);
  EXPECT_EQ(*prune_audit(*writer, retention, pruning), 0);
  ASSERT_TRUE(writer->script("COMMIT"));
  EXPECT_FALSE(writer->script("DELETE FROM audit")) << "the permission ends with the function";
  const auto refused = rows({.refused = true});
  ASSERT_THAT(refused, SizeIs(3));
  EXPECT_EQ(refused.back().at, kNow - 93) << "the newest stay";
  EXPECT_THAT(names({.who = "ann"}), SizeIs(1));
}

TEST_F(AuditTest, RowsAreFoundByTimePersonCallAndRefusal) {
  add(row_at(10, "ann", "Control.StartRun"));
  add(row_at(20, "bob", "Archive.Prune"));
  add(row_at(30, "bob", "Control.StartRun", true));
  EXPECT_THAT(names({}),
              ElementsAre("bob Control.StartRun", "bob Archive.Prune", "ann Control.StartRun"));
  EXPECT_THAT(names({.since = 20}), ElementsAre("bob Control.StartRun", "bob Archive.Prune"));
  EXPECT_THAT(names({.who = "ann"}), ElementsAre("ann Control.StartRun"));
  EXPECT_THAT(names({.rpc = "Prune"}), ElementsAre("bob Archive.Prune"));
  EXPECT_THAT(names({.rpc = "Archive.Prune"}), ElementsAre("bob Archive.Prune"));
  EXPECT_THAT(names({.rpc = "Archive"}), IsEmpty());
  EXPECT_THAT(names({.refused = true}), ElementsAre("bob Control.StartRun"));
}

}  // namespace
}  // namespace railgauge::store

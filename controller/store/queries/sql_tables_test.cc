// `railgauge sql` for viewers: each table of the database is either for them or not, by a decision.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

// Measurements, what was made of them, and what an operator sees by other calls too.
const std::set<std::string> kForViewers{"attempt",
                                        "baseline",
                                        "certificate",
                                        "delivery",
                                        "distribution",
                                        "endpoint",
                                        "endpoint_attribute",
                                        "epoch",
                                        "event",
                                        "fact_set",
                                        "finding",
                                        "finding_series",
                                        "finding_step",
                                        "metric_list",
                                        "mirror_outbox",
                                        "mirror_start",
                                        "mirror_state",
                                        "node",
                                        "node_group",
                                        "node_label",
                                        "node_name",
                                        "node_pause",
                                        "note",
                                        "operator_note",
                                        "orphan_record",
                                        "pair_matrix",
                                        "pair_outlier",
                                        "parameter_set",
                                        "part_levels",
                                        "point",
                                        "point_tail",
                                        "preflight",
                                        "preflight_check",
                                        "rank",
                                        "raw_sample",
                                        "repeat_count",
                                        "run",
                                        "schedule",
                                        "schedule_due",
                                        "series",
                                        "series_day",
                                        "series_endpoint",
                                        "site_label",
                                        "stack",
                                        "stage_time",
                                        "standby_state",
                                        "task",
                                        "task_rank",
                                        "task_rest",
                                        "upgrade",
                                        "upgrade_node",
                                        "upgrade_run"};
// People, hashes of secrets, keys, addresses: these have calls of their own.
const std::set<std::string> kNotForViewers{"audit", "enrolment", "enrolment_token"};

class SqlTablesTest : public StoreTest {
 protected:
  std::set<std::string> tables() {
    const auto table = store_->sql(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
        "'sqlite_%'",
        1'000, 10);
    EXPECT_TRUE(table) << table.error().message;
    std::set<std::string> names;
    for (const auto& row : table->rows) names.insert(std::get<std::string>(row.at(0)));
    return names;
  }
  bool is_readable(const std::string& table) {
    return store_->sql("SELECT * FROM " + table, 1, 10).has_value();
  }
};

TEST_F(SqlTablesTest, ANewTableIsDecidedHere) {
  std::set<std::string> decided = kForViewers;
  decided.insert(kNotForViewers.begin(), kNotForViewers.end());
  EXPECT_EQ(tables(), decided) << "a new table belongs into one of both sets, and a secret one "
                                  "into kUnreadable of sqlite.cc";
}

TEST_F(SqlTablesTest, TheDecisionHolds) {
  for (const std::string& table : kForViewers) EXPECT_TRUE(is_readable(table)) << table;
  for (const std::string& table : kNotForViewers) EXPECT_FALSE(is_readable(table)) << table;
}

// Pages and samples of a secret table are its values.
TEST_F(SqlTablesTest, NorAreCopiesOfValuesThatSqliteKeeps) {
  for (const char* table : {"sqlite_stat4", "sqlite_dbpage", "sqlite_stmt"})
    EXPECT_FALSE(is_readable(table)) << table;
  EXPECT_TRUE(is_readable("sqlite_master"));
}

}  // namespace
}  // namespace railgauge::store

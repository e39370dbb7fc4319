#include "controller/store/upkeep/schema.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/migrations.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

Result<Connection> open(const std::string& path) { return open_and_migrate(path, 1, 0); }

std::int64_t value_of(Connection& connection, std::string_view sql) {
  auto value = connection.integer(sql);
  EXPECT_TRUE(value) << value.error().message;
  return value && *value ? **value : -1;
}

TEST(Schema, AnEmptyFileBecomesTheNewestVersion) {
  const TempFolder folder;
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), schema_version());
  EXPECT_EQ(value_of(*connection, "PRAGMA foreign_keys"), 1);
  EXPECT_EQ(value_of(*connection, "PRAGMA synchronous"), 2) << "2 is FULL";
  EXPECT_EQ(value_of(*connection, "PRAGMA auto_vacuum"), 2) << "2 is INCREMENTAL";
  EXPECT_EQ(
      value_of(*connection, "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode='wal'"),
      1);
  EXPECT_EQ(value_of(*connection,
                     "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check='ok'"),
            1);
}

TEST(Schema, EveryTableIsStrict) {
  const TempFolder folder;
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_GT(value_of(*connection, "SELECT count(*) FROM pragma_table_list WHERE strict=1"), 15);
  EXPECT_EQ(
      value_of(
          *connection,
          "SELECT count(*) FROM pragma_table_list WHERE strict=0 AND name NOT LIKE 'sqlite_%'"),
      0);
}

TEST(Schema, OpeningAgainChangesNothing) {
  const TempFolder folder;
  { ASSERT_TRUE(open(folder.file("db"))); }
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), schema_version());
}

// A database as an earlier version left it: one node, one run with a point and all that hangs on it
// (testdata/make.sh wrote them).
void copy_stored(std::uint32_t version, const std::string& path) {
  std::filesystem::copy_file(fmt::format("controller/store/testdata/version{}.db", version), path);
}

TEST(Schema, EveryVersionHasAStoredFile) {
  for (std::uint32_t version = 1; version <= schema_version(); ++version)
    EXPECT_TRUE(
        std::filesystem::exists(fmt::format("controller/store/testdata/version{}.db", version)))
        << "controller/store/testdata/make.sh writes it";
}

class EarlierVersion : public testing::TestWithParam<std::uint32_t> {};

// "node 1; run 1; ..." of the tables that `of` has.
std::string rows_of_tables(Connection& connection, const std::vector<std::string>& tables) {
  std::string rows;
  for (const std::string& table : tables)
    rows += fmt::format("{} {}; ", table,
                        value_of(connection, fmt::format("SELECT count(*) FROM {}", table)));
  return rows;
}

std::vector<std::string> tables_of(Connection& connection) {
  std::vector<std::string> tables;
  auto rows = connection.query("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name");
  EXPECT_TRUE(rows) << rows.error().message;
  for (auto more = rows->next(); more && *more; more = rows->next())
    tables.push_back(rows->text(0));
  return tables;
}

std::vector<std::string> texts_of(Connection& connection, const std::string& sql) {
  std::vector<std::string> texts;
  auto rows = connection.query(sql);
  EXPECT_TRUE(rows) << rows.error().message;
  for (auto more = rows->next(); more && *more; more = rows->next()) texts.push_back(rows->text(0));
  return texts;
}

// The values that migrations replace: keys, and states that have other names since version 7.
bool is_made_anew(const std::string& table, const std::string& column) {
  if (table == "point") return column == "id";
  // The mirror does not note the writes of a migration, and then sends everything once more.
  if (table == "mirror_state") return column == "is_on";
  return column == "point" || (table == "finding" && column == "state");
}

// Columns that the table has in both, but for those.
std::vector<std::string> shared_columns(Connection& one, Connection& other,
                                        const std::string& table) {
  const std::string sql = fmt::format("SELECT name FROM pragma_table_xinfo('{}')", table);
  const std::vector<std::string> others = texts_of(other, sql);
  std::vector<std::string> shared;
  for (const std::string& column : texts_of(one, sql))
    if (std::ranges::find(others, column) != others.end() && !is_made_anew(table, column))
      shared.push_back(column);
  return shared;
}

// Each row's cells as SQL has them, in an order of their own.
std::vector<std::string> cells_of(Connection& connection, const std::string& table,
                                  const std::vector<std::string>& columns) {
  return texts_of(connection, fmt::format("SELECT quote({}) FROM {} ORDER BY 1",
                                          fmt::join(columns, ") || ' ' || quote("), table));
}

TEST_P(EarlierVersion, KeepsTheRowsOfEveryTable) {
  const TempFolder folder;
  copy_stored(GetParam(), folder.file("db"));
  copy_stored(GetParam(), folder.file("earlier"));
  auto earlier = Connection::open(folder.file("earlier"), Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(earlier) << earlier.error().message;
  const std::vector<std::string> tables = tables_of(*earlier);
  ASSERT_GE(tables.size(), 19u);
  const std::string rows = rows_of_tables(*earlier, tables);
  EXPECT_THAT(rows, testing::Not(HasSubstr(" 0; "))) << "make.sh puts a row into each";
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(rows_of_tables(*connection, tables), rows);
  for (const std::string& table : tables) {
    const std::vector<std::string> columns = shared_columns(*earlier, *connection, table);
    ASSERT_FALSE(columns.empty()) << table;
    EXPECT_EQ(cells_of(*connection, table, columns), cells_of(*earlier, table, columns)) << table;
  }
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM finding WHERE state='open'"), 0);
  EXPECT_EQ(value_of(*connection,
                     "SELECT count(*) FROM point WHERE measured_at=1.0 AND "
                     "measured_ms=1000"),
            1);
}

TEST_P(EarlierVersion, BecomesTheNewestAndLosesNothing) {
  const TempFolder folder;
  copy_stored(GetParam(), folder.file("db"));
  {
    auto connection = open(folder.file("db"));
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), schema_version());
    EXPECT_EQ(value_of(*connection, "PRAGMA foreign_keys"), 1);
    EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    EXPECT_EQ(value_of(*connection,
                       "SELECT count(*) FROM point JOIN series ON series.id=point.series JOIN "
                       "series_endpoint ON series_endpoint.series=series.id WHERE series.id=7 AND "
                       "pair='' AND point.rank=1 AND point.sequence=1"),
              1);
    EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM endpoint_attribute WHERE model=''"), 1);
    EXPECT_EQ(value_of(*connection,
                       "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check='ok'"),
              1);
  }
  const std::string before = fmt::format("{}.before-{}", folder.file("db"), schema_version());
  EXPECT_EQ(std::filesystem::exists(before), GetParam() < schema_version())
      << "for the older program, should the upgrade be rolled back";
  auto store = open_store(folder.file("db"));
  EXPECT_THAT(*store->check(), testing::IsEmpty());
  const auto rows = store->results({.run_id = "r1"});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1u);
  const Point& point = rows->front().point;
  EXPECT_EQ(point.median(), 1500);
  EXPECT_EQ(point.p99(), 1900);
  EXPECT_EQ(point.p999(), 2500);
  EXPECT_EQ(point.effective_sample_count(), 800);
  EXPECT_EQ(point.max(), 2600);
  const auto samples = store->samples("r1", "t1", 1, 0, 1);
  EXPECT_EQ(samples.error().code, Code::kDataLoss) << "the stored bytes are no zstd, but are there";
}

TEST(Schema, ACopyOfAnUpgradeThatWasRolledBackIsNotTakenForANewOne) {
  const TempFolder folder;
  const std::string path = folder.file("db");
  const std::string kept = fmt::format("{}.before-{}", path, schema_version());
  copy_stored(1, path);
  { ASSERT_TRUE(open(path)); }
  ASSERT_TRUE(std::filesystem::exists(kept));
  // The older program continues with its copy.
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::copy_file(kept, path);
  {
    auto older = Connection::open(path, Connection::Mode::kCreate, 1);
    ASSERT_TRUE(older);
    ASSERT_TRUE(older->script("INSERT INTO event VALUES (900, 1, 'later', '', '', '')"));
  }
  std::filesystem::copy_file(path, folder.file("again"));
  { ASSERT_TRUE(open(path)); }
  auto second = Connection::open(kept + "-2", Connection::Mode::kReadOnly, 1);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(value_of(*second, "SELECT count(*) FROM event WHERE kind='later'"), 1);
  // Nothing came since: that copy does.
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::copy_file(folder.file("again"), path);
  { ASSERT_TRUE(open(path)); }
  EXPECT_FALSE(std::filesystem::exists(kept + "-3"));
}

INSTANTIATE_TEST_SUITE_P(Stored, EarlierVersion, testing::Range(1U, schema_version() + 1));

TEST(Schema, ParentsAndRepeatsOfVersion9BecomeColumns) {
  const TempFolder folder;
  copy_stored(9, folder.file("db"));
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_THAT(texts_of(*connection, "SELECT run_id || ' ' || parent_run_id FROM run ORDER BY id"),
              testing::ElementsAre("r1 ", "r2 r1", "r3 r2"));
  EXPECT_THAT(texts_of(*connection,
                       "SELECT run_id || ' ' || at || ' ' || apart || ' ' || figures FROM "
                       "repeat_count"),
              testing::ElementsAre("r3 3.0 3 120"));
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM event WHERE kind='measured_twice'"), 1);
}

TEST(Schema, CancelledByAndNotesOfVersion9BecomeColumns) {
  const TempFolder folder;
  copy_stored(9, folder.file("db"));
  {
    auto before = Connection::open(folder.file("db"), Connection::Mode::kCreate, 0);
    ASSERT_TRUE(before);
    ASSERT_TRUE(
        before->execute("UPDATE run SET reason='the rest of run r1; cancelled by ann' "
                        "WHERE run_id='r2'"));
    ASSERT_TRUE(
        before->execute("UPDATE run SET reason='cancelled by schedule s, for run r4' WHERE "
                        "run_id='r3'"));
    ASSERT_TRUE(
        before->execute("UPDATE schedule_due SET reason='made up for; the rest of run r1, "
                        "which a restart of the controller broke off'"));
  }
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_THAT(texts_of(*connection, "SELECT cancelled_by FROM run ORDER BY id"),
              testing::ElementsAre("", "ann", "schedule s, for run r4"));
  EXPECT_THAT(texts_of(*connection, "SELECT note FROM schedule_due"),
              testing::ElementsAre("made up for"));
}

TEST(Schema, NodesTasksAndAttemptsOfVersion10AreNotBoundYet) {
  const TempFolder folder;
  copy_stored(10, folder.file("db"));
  auto store = open_store(folder.file("db"));
  const auto bonds = store->node_bonds();
  ASSERT_TRUE(bonds) << bonds.error().message;
  ASSERT_EQ(bonds->size(), 1u);
  EXPECT_EQ(bonds->front().name, "n1");
  EXPECT_EQ(bonds->front().certificate, "") << "bound at its next attach";
  auto connection = Connection::open(folder.file("db"), Connection::Mode::kReadOnly, 1);
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM task WHERE metric_list IS NULL"), 1);
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM attempt WHERE dispatched_at IS NULL"), 1);
  // Its attempts count as dispatched, so their late records are taken, whatever their metric.
  Record started = record_at({.task_id = "t1"}, 0);
  started.mutable_started()->set_kernel("k");
  Record point = point_record({.task_id = "t1"}, 7);
  point.mutable_point()->set_metric("of_an_old_kernel_ns");
  ASSERT_TRUE(deliver(*store, "id-1", {started, point}));
  EXPECT_EQ(store->results({.run_id = "r1"})->size(), 2u);
}

TEST(Schema, AMigrationThatIsKilledBeginsAnew) {
  const TempFolder folder;
  copy_stored(1, folder.file("db"));
  const pid_t child = ::fork();
  if (child == 0) {
    // As far as before the commit, then gone.
    auto connection = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
    if (!connection || !connection->script("PRAGMA journal_mode=WAL; BEGIN IMMEDIATE") ||
        !connection->script(kMigrations[1]))
      ::_exit(1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), schema_version());
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM point"), 1);
}

TEST(Schema, ASequenceThatTheNewKeyCannotHoldStopsAMigrationAndNothingIsLost) {
  const TempFolder folder;
  copy_stored(7, folder.file("db"));
  {
    auto connection = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->script("PRAGMA foreign_keys=OFF; UPDATE point SET id=id + 1048576"));
  }
  const auto refused = open(folder.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("largest < 1048576"));
  auto connection = Connection::open(folder.file("db"), Connection::Mode::kReadOnly, 1);
  EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), 7);
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM point WHERE measured_at=1.0"), 1);
}

TEST(Schema, ReferencesToRowsThatAreGoneStopAMigration) {
  const TempFolder folder;
  copy_stored(1, folder.file("db"));
  {
    auto connection = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->script("PRAGMA foreign_keys=OFF; DELETE FROM series"));
  }
  const auto refused = open(folder.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr("2 rows refer to rows that are gone"));
}

TEST(Schema, ANewerDatabaseIsRefusedNamingBoth) {
  const TempFolder folder;
  {
    auto connection = open(folder.file("db"));
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->script("PRAGMA user_version=999"));
  }
  const auto refused = open(folder.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(refused.error().message,
              HasSubstr(fmt::format("written by a newer Railgauge (database version 999, this "
                                    "program knows {})",
                                    schema_version())));
  EXPECT_THAT(refused.error().message, HasSubstr(folder.file("db")));
}

TEST(Schema, AnotherProgramsDatabaseIsLeftAlone) {
  const TempFolder folder;
  {
    auto connection = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->script("CREATE TABLE letters (text TEXT)"));
  }
  const auto refused = open(folder.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another program's database"));
}

TEST(Schema, WhatIsNoDatabaseIsRefusedInOneLine) {
  const TempFolder folder;
  std::ofstream(folder.file("db")) << std::string(8192, 'x');
  const auto refused = open(folder.file("db"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr("file is not a database; name another file"));
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

TEST(Schema, AFolderThatIsNotThereIsNamed) {
  const auto refused = open("/nowhere/at/all/db");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message,
              HasSubstr("store /nowhere/at/all/db: open: unable to open database file"));
  EXPECT_THAT(refused.error().message, HasSubstr("its folder must exist"));
}

}  // namespace
}  // namespace railgauge::store

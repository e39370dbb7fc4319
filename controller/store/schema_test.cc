#include "controller/store/schema.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/migrations.h"
#include "controller/store/store_testing.h"

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

// A database of version 1 with a run and its points, as the first release left it.
void write_first_version(const std::string& path) {
  auto connection = Connection::open(path, Connection::Mode::kCreate, 1);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->script(kMigrations[0]));
  ASSERT_TRUE(connection->script(
      "PRAGMA application_id=0x52474744; PRAGMA user_version=1;"
      "INSERT INTO node VALUES (1, 'id-1', 'n1', '', '', NULL, 1, 1);"
      "INSERT INTO endpoint VALUES (4, 1, '0000:3b:00.0', 1, '', 'nic', 'active', 1);"
      "INSERT INTO endpoint_attribute VALUES (4, 1, NULL, 'mlx5_0', '', '', '', '', '', 0, 0, 0);"
      "INSERT INTO series VALUES (7, 'k', 1, 'latency_ns', 'half_rtt', 8, 0, '{}', '4', 'ns', 0);"
      "INSERT INTO series_endpoint VALUES (7, 0, 4);"
      "INSERT INTO run VALUES (1, 'r1', 's', '', 'cli', '', 'ended', 'passed', '', '[]', 1, 1, 1);"
      "INSERT INTO parameter_set VALUES (1, 0, '{}');"
      "INSERT INTO task VALUES (1, 1, 't1', 0, 0, 'k', 1, '[]', 1, 1, 1, 'ended', 'passed', '', 1, "
      "1);"
      "INSERT INTO attempt VALUES (1, 1, 1, 'passed', '');"
      "INSERT INTO rank (id, attempt, rank) VALUES (1, 1, 0);"
      "INSERT INTO point VALUES (1, 1, 7, 1, 1500, NULL, NULL, NULL, NULL, 9, NULL, 5, NULL);"));
}

TEST(Schema, TheFirstVersionBecomesTheNewestAndLosesNothing) {
  const TempFolder folder;
  write_first_version(folder.file("db"));
  auto connection = open(folder.file("db"));
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_EQ(value_of(*connection, "PRAGMA user_version"), schema_version());
  EXPECT_EQ(value_of(*connection, "PRAGMA foreign_keys"), 1);
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
  EXPECT_EQ(value_of(*connection,
                     "SELECT count(*) FROM point JOIN series ON series.id=point.series JOIN "
                     "series_endpoint ON series_endpoint.series=series.id WHERE series.id=7 AND "
                     "pair=''"),
            1);
  EXPECT_EQ(value_of(*connection, "SELECT count(*) FROM endpoint_attribute WHERE model=''"), 1);
}

TEST(Schema, ReferencesToRowsThatAreGoneStopAMigration) {
  const TempFolder folder;
  write_first_version(folder.file("db"));
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

#include "controller/store/schema.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

#include "controller/store/sqlite/sqlite.h"

#include <optional>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/states.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::HasSubstr;

class SqliteTest : public testing::Test {
 protected:
  static Connection open(const std::string& path, Connection::Mode mode) {
    auto connection = Connection::open(path, mode, 0.01);
    RG_CHECK(connection.has_value());
    return std::move(*connection);
  }
  TempFolder folder_;
  Connection connection_ = open(folder_.file("db"), Connection::Mode::kCreate);
};

TEST_F(SqliteTest, ValuesComeBackAsTheyWereBound) {
  ASSERT_TRUE(connection_.script("CREATE TABLE t (i INTEGER, r REAL, x TEXT, b BLOB) STRICT"));
  const std::string bytes("a\0b", 3);
  ASSERT_TRUE(connection_.execute("INSERT INTO t VALUES (?1, ?2, ?3, ?4)", std::int64_t{1} << 40,
                                  0.1, "text", Blob{bytes}));
  ASSERT_TRUE(connection_.execute("INSERT INTO t VALUES (?1, ?2, ?3, ?4)", std::nullopt,
                                  std::optional<double>(), "", Blob{""}));
  EXPECT_EQ(connection_.last_id(), 2);
  auto rows = connection_.query("SELECT i, r, x, b FROM t ORDER BY rowid");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->integer(0), std::int64_t{1} << 40);
  EXPECT_EQ(rows->real(1), 0.1);
  EXPECT_EQ(rows->text(2), "text");
  EXPECT_EQ(rows->blob(3), bytes);
  ASSERT_TRUE(*rows->next());
  EXPECT_TRUE(rows->is_null(0));
  EXPECT_FALSE(rows->optional_real(1));
  EXPECT_FALSE(rows->is_null(2)) << "an empty text is no NULL";
  EXPECT_FALSE(rows->is_null(3));
  EXPECT_FALSE(*rows->next());
}

TEST_F(SqliteTest, ATextThatIsNoStateIsAnErrorAndNotTheFirstState) {
  ASSERT_TRUE(connection_.script("CREATE TABLE t (s TEXT) STRICT"));
  ASSERT_TRUE(connection_.execute("INSERT INTO t VALUES (?1), ('paused')", api::RunState::kEnded));
  auto state = api::RunState::kPlanned;
  ASSERT_TRUE(connection_.row(std::tie(state), "SELECT s FROM t WHERE rowid=1"));
  EXPECT_EQ(state, api::RunState::kEnded);
  const auto unknown = connection_.row(std::tie(state), "SELECT s FROM t WHERE rowid=2");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kDataLoss);
  EXPECT_THAT(unknown.error().message, HasSubstr("paused"));
  struct Row {
    api::RunState state = api::RunState::kPlanned;
  };
  EXPECT_FALSE(connection_.list(Columns{&Row::state}, "SELECT s FROM t"));
}

TEST_F(SqliteTest, AStatementIsPreparedOnceAndRewound) {
  ASSERT_TRUE(connection_.script("CREATE TABLE t (i INTEGER UNIQUE) STRICT"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(connection_.execute("INSERT INTO t VALUES (?1)", i));
    const auto seen = connection_.integer("SELECT count(*) FROM t WHERE i <= ?1", i);
    ASSERT_TRUE(seen);
    EXPECT_EQ(**seen, i + 1);
  }
  const auto none = connection_.integer("SELECT i FROM t WHERE i=?1", 99);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

TEST_F(SqliteTest, AnyNumberOfTextsMayComeAlsoWhileRowsAreRead) {
  ASSERT_TRUE(
      connection_.script("CREATE TABLE t (i INTEGER) STRICT; INSERT INTO t VALUES (1), (2)"));
  auto rows = connection_.query("SELECT i FROM t ORDER BY i");
  ASSERT_TRUE(rows && *rows->next());
  auto not_begun = connection_.query("SELECT -i FROM t ORDER BY i");
  ASSERT_TRUE(not_begun);
  for (int text = 0; text < 1'000; ++text)
    ASSERT_EQ(**connection_.integer("SELECT " + std::to_string(text)), text);
  ASSERT_TRUE(*rows->next());
  EXPECT_EQ(rows->integer(0), 2);
  ASSERT_TRUE(*not_begun->next());
  EXPECT_EQ(not_begun->integer(0), -1);
}

TEST_F(SqliteTest, ErrorsNameFileActAndCause) {
  const auto wrong = connection_.execute("SELECT * FROM nowhere");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "store " + folder_.file("db") + ": prepare: no such table: nowhere");
  ASSERT_TRUE(connection_.script("CREATE TABLE t (i INTEGER UNIQUE) STRICT"));
  ASSERT_TRUE(connection_.execute("INSERT INTO t VALUES (1)"));
  const auto twice = connection_.execute("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
}

TEST_F(SqliteTest, AReadOnlyConnectionCannotWrite) {
  ASSERT_TRUE(connection_.script("CREATE TABLE t (i INTEGER) STRICT"));
  Connection reader = open(folder_.file("db"), Connection::Mode::kReadOnly);
  const auto refused = reader.execute("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
}

TEST_F(SqliteTest, AStrangersLockIsUnavailable) {
  ASSERT_TRUE(connection_.script("CREATE TABLE t (i INTEGER) STRICT"));
  Connection stranger = open(folder_.file("db"), Connection::Mode::kCreate);
  ASSERT_TRUE(stranger.script("BEGIN EXCLUSIVE"));
  const auto refused = connection_.execute("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("another program holds its lock"));
}

TEST_F(SqliteTest, ACountOfValuesThatDoesNotMatchIsAProgrammersError) {
  EXPECT_DEATH(static_cast<void>(connection_.execute("SELECT ?1, ?2", 1)), "CHECK failed");
}

}  // namespace
}  // namespace railgauge::store

// People's SQL in the controller's own program: each bomb ends within its bound, in one line.
#include "controller/history/sql_process.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/testing/controller_process.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kSeconds = 3;

class SqlProcessTest : public testing::Test {
 protected:
  SqlProcessTest() {
    auto store = store::open_store(database_);
    for (int node = 1; node <= 3; ++node) EXPECT_TRUE(store->put_node(store::node_row(node)));
    EXPECT_TRUE(store->flush());
  }
  Result<api::SqlTable> ask(const std::string& sql, const std::function<bool()>& cancelled = {},
                            double seconds = kSeconds) {
    api::SqlRequest request;
    request.set_sql(sql);
    request.set_max_rows(1'000);
    request.set_max_seconds(seconds);
    return run_sql_process(testing_agent::controller_program(), database_, request, cancelled);
  }
  // Whether no child of this process is left.
  static bool no_child() { return ::waitpid(-1, nullptr, WNOHANG) < 0; }

  store::TempFolder folder_;
  const std::string database_ = folder_.file("db");
};

TEST_F(SqlProcessTest, AnswersAsTheControllerItselfWould) {
  const auto table = ask("SELECT name, 1 + 1, NULL, 9007199254740993, 0.5 FROM node ORDER BY name");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->rows_size(), 3);
  EXPECT_EQ(table->rows(0).values(0).text(), "n1");
  EXPECT_EQ(table->rows(0).values(1).number(), 2);
  EXPECT_EQ(table->rows(0).values(3).integer(), 9007199254740993);
  EXPECT_TRUE(ask("SELECT name FROM pragma_table_info('node')"));
  EXPECT_TRUE(ask("SELECT count(*) FROM (SELECT * FROM node ORDER BY name DESC LIMIT 2)"));
}

TEST_F(SqlProcessTest, EveryBombEndsWithinItsBoundInOneLine) {
  const std::string endless =
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
  const std::string blobs =
      "WITH RECURSIVE n (i) AS (SELECT randomblob(99999) UNION SELECT randomblob(99999) FROM n) ";
  for (const std::string& bomb : std::vector<std::string>{
           endless + "count(*) FROM n", endless + "i, randomblob(1000) FROM n ORDER BY 2",
           endless + "group_concat(i, hex(zeroblob(1000000))) FROM n",
           endless + "count(DISTINCT randomblob(1000)) FROM n", blobs + "SELECT count(*) FROM n",
           "WITH a (x) AS (SELECT value FROM json_each(hex(zeroblob(1)))) SELECT 1 FROM a",
           "SELECT zeroblob(1000000000)", "SELECT hex(randomblob(1000000000))",
           "SELECT printf('%.1000000000d', 1)", "SELECT printf('%*d', 2000000000, 1)",
           // One call of a function, which SQLite cannot interrupt.
           "SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(3999999)) || '1')",
           "SELECT replace(hex(zeroblob(8000000)), hex(zeroblob(3999999)) || '1', '')",
           "SELECT hex(zeroblob(8000000)) LIKE '%0%0%0%0%0%0%0%0%0%0%1'",
           "SELECT hex(zeroblob(8000000)) GLOB '*0*0*0*0*0*0*0*0*0*0*1'",
           "SELECT trim(hex(zeroblob(8000000)), hex(zeroblob(7000000)) || '1')",
           "SELECT 1 WHERE 'a' LIKE hex(zeroblob(1000000)) || '%'", "ATTACH '/tmp/x' AS x",
           "SELECT load_extension('x')", "PRAGMA journal_mode=DELETE",
           "SELECT * FROM pragma_journal_mode('delete')", "SELECT * FROM pragma_user_version(7)",
           "SELECT * FROM pragma_integrity_check", "SELECT * FROM pragma_hard_heap_limit(0)",
           "SELECT readfile('/etc/passwd')", "SELECT writefile('/tmp/x', 'x')", "DELETE FROM node",
           "CREATE TEMP TABLE t AS SELECT 1", "VACUUM INTO '/tmp/x'", "BEGIN", "SELECT 1; SELECT 2",
           "SELECT fts3_tokenizer('simple', x'00')", "CREATE VIRTUAL TABLE t USING fts5(a)",
           std::string(2'000'000, ' '), "", std::string("SELECT 1\0, 2", 12),
           "SELECT " + std::string(50'000, '('), "SELECT 1" + [] {
             std::string sum;
             for (int i = 0; i < 100'000; ++i) sum += "+1";
             return sum;
           }()}) {
    const auto table = ask(bomb);
    if (table)
      EXPECT_LE(table->ByteSizeLong(), 64U << 20U) << bomb.substr(0, 80);
    else
      EXPECT_THAT(table.error().message, Not(HasSubstr("\n"))) << bomb.substr(0, 80);
    EXPECT_TRUE(no_child()) << bomb.substr(0, 80);
  }
  const auto nodes = ask("SELECT count(*) FROM node");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->rows(0).values(0).number(), 3);
}

// SQLite looks at no limit inside a call, which would take hours.
TEST_F(SqlProcessTest, ACallThatNothingInterruptsIsKilled) {
  const auto table = ask("SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(3999999)) || '1')");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(no_child());
}

TEST_F(SqlProcessTest, SortingBeyondItsMemoryIsOneLineAndNoFile) {
  constexpr double kEnoughSeconds = 300;  // memory ends first, on a busy machine too
  const auto written = [] {
    rusage ended{};
    ::getrusage(RUSAGE_CHILDREN, &ended);
    return 512 * ended.ru_oublock;
  };
  const auto before = written();
  const auto table = ask(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT "
      "i, randomblob(1000) FROM n ORDER BY 2",
      {}, kEnoughSeconds);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().message, "sql: it needs more than 256 MB of memory; narrow it");
  EXPECT_LT(written() - before, 16 << 20);
}

TEST_F(SqlProcessTest, WritesAndOtherFilesAreRefused) {
  for (const char* statement :
       {"DELETE FROM node", "ATTACH ':memory:' AS x", "PRAGMA user_version=7",
        "SELECT * FROM pragma_user_version(7)", "SELECT * FROM pragma_journal_mode('delete')",
        "SELECT load_extension('/tmp/x.so')", "CREATE TEMP TABLE t (a)",
        "SELECT 1; DELETE FROM node"})
    EXPECT_FALSE(ask(statement)) << statement;
}

TEST_F(SqlProcessTest, ACallerThatLeavesEndsTheProcess) {
  const auto table = ask("SELECT instr(hex(zeroblob(8000000)), hex(zeroblob(3999999)) || '1')",
                         [] { return true; });
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, Code::kCancelled);
  EXPECT_TRUE(no_child());
}

TEST_F(SqlProcessTest, AProgramThatIsNoneOfOursIsOneLine) {
  api::SqlRequest request;
  request.set_sql("SELECT 1");
  request.set_max_seconds(1);
  EXPECT_THAT(run_sql_process("/nonexistent", database_, request, {}).error().message,
              HasSubstr("sql: no process for the statement"));
  EXPECT_THAT(run_sql_process("/bin/true", database_, request, {}).error().message,
              HasSubstr("ended without an answer"));
}

}  // namespace
}  // namespace railgauge

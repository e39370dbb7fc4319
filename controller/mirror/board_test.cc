// Every query of the archive's board, as Grafana would send it, against the data of two sites.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"
#include "controller/store/queries/upgrades.h"

namespace railgauge::mirror {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;

class BoardTest : public MirrorTest {
 protected:
  void SetUp() override {
    MirrorTest::SetUp();
    if (IsSkipped()) return;
    fill(*store_);
    expect_same();
    west_ = open_armed(folder_.file("west"));
    fill(*west_);
    Mirror west(options("west"), *west_, note_, [] { return false; });
    ASSERT_TRUE(drain(west, *west_));
  }
  // Something for each panel.
  static void fill(store::Store& store) {
    store::plan_run(store, "r1", 2);
    for (const char* task : {"t0001", "t0002"})
      store::append_passed(store, {.run_id = "r1", .task_id = task});
    ASSERT_TRUE(store.update_run({.run_id = "r1",
                                  .state = store::RunState::kEnded,
                                  .outcome = "passed",
                                  .ended_at = 1.7e9}));
    ASSERT_TRUE(store.add_event({.at = 1.7e9, .kind = "node_attached", .text = "n1"}));
    store::PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = "m", .unit = "ns"};
    matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
    matrix.values = {NAN, 1500, 1600, NAN};
    ASSERT_TRUE(store.put_pair_matrix(matrix));
    ASSERT_TRUE(store.write(store::write_finding, store::FindingRow{.finding_id = "f1",
                                                                    .kind = "regression",
                                                                    .severity = "warning",
                                                                    .run_id = "r1",
                                                                    .summary = "slower",
                                                                    .opened_at = 1.7e9,
                                                                    .changed_at = 1.7e9}));
    ASSERT_TRUE(store.write(
        store::write_upgrade,
        store::UpgradeRow{
            .upgrade_id = "u1", .suite = "quick", .requested_by = "me", .created_at = 1.7e9}));
    ASSERT_TRUE(store.flush());
  }
  static Struct board() {
    std::ifstream file("dashboards/postgres/railgauge-archive.json");
    std::stringstream text;
    text << file.rdbuf();
    Struct board;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text.str(), &board).ok());
    return board;
  }
  // The statement with Grafana's macros and the board's variables filled in.
  static std::string filled(std::string sql) {
    const std::map<std::string, std::string> variables{{"${site:sqlstring}", "'east','west'"},
                                                       {"$kernel", "verbs.write_lat"},
                                                       {"$metric", "latency_ns"},
                                                       {"$message_bytes", "8"}};
    for (const auto& [name, value] : variables)
      for (std::size_t at = 0; (at = sql.find(name)) != std::string::npos;)
        sql.replace(at, name.size(), value);
    const std::string macro = "$__timeFilter(";
    for (std::size_t at = 0; (at = sql.find(macro)) != std::string::npos;) {
      const std::size_t end = sql.find(')', at);
      const std::string column = sql.substr(at + macro.size(), end - at - macro.size());
      sql.replace(at, end + 1 - at,
                  column + " BETWEEN '2020-01-01T00:00:00Z' AND '2040-01-01T00:00:00Z'");
    }
    return sql;
  }

  std::unique_ptr<store::Store> west_;
};

// RAILGAUGE_BOARD_ROWS: a file that gets a row of Markdown for each query, for results/archive.md.
TEST_F(BoardTest, EachPanelShowsBothSites) {
  auto database = pq::Connection::open({.url = url_});
  ASSERT_TRUE(database) << database.error().message;
  const Struct whole = board();
  const char* const rows_file = std::getenv("RAILGAUGE_BOARD_ROWS");
  std::ofstream rows(rows_file != nullptr ? rows_file : "");
  int queries = 0;
  for (const auto& panel : whole.fields().at("panels").list_value().values()) {
    const auto& fields = panel.struct_value().fields();
    const std::string& title = fields.at("title").string_value();
    for (const auto& target : fields.at("targets").list_value().values()) {
      const std::string sql = filled(target.struct_value().fields().at("rawSql").string_value());
      EXPECT_EQ(sql.find('$'), std::string::npos) << title << ": " << sql;
      const auto answer = (*database)->query(sql);
      ASSERT_TRUE(answer) << title << ": " << answer.error().message;
      std::string all;
      std::string first;
      for (int row = 0; row < answer->rows(); ++row)
        for (int column = 0; column < answer->columns(); ++column) {
          all += fmt::format("{} ", answer->text(row, column));
          if (row == 0)
            first += fmt::format("{}{} {}", column > 0 ? ", " : "", answer->column_name(column),
                                 answer->text(row, column));
        }
      rows << fmt::format("| {} | {} | {} |\n", title, answer->rows(), first);
      EXPECT_NE(all.find("east"), std::string::npos) << title << ": " << all;
      EXPECT_NE(all.find("west"), std::string::npos) << title << ": " << all;
      ++queries;
    }
  }
  EXPECT_GE(queries, 11);
}

TEST_F(BoardTest, EachVariableHasValues) {
  auto database = pq::Connection::open({.url = url_});
  ASSERT_TRUE(database) << database.error().message;
  const Struct whole = board();
  const auto& list = whole.fields().at("templating").struct_value().fields().at("list");
  for (const auto& variable : list.list_value().values()) {
    const auto& fields = variable.struct_value().fields();
    if (fields.at("type").string_value() != "query") continue;
    const auto answer = (*database)->query(filled(fields.at("query").string_value()));
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_GE(answer->rows(), 1) << fields.at("name").string_value();
  }
}

}  // namespace
}  // namespace railgauge::mirror

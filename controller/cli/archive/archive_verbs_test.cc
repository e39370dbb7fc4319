// The real program against an archive of two sites.
#include "controller/cli/archive/archive_verbs.h"

#include <sys/wait.h>

#include <cmath>
#include <cstdio>

#include <gmock/gmock.h>

#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ArchiveProcessTest : public MirrorTest {
 protected:
  void SetUp() override {
    MirrorTest::SetUp();
    if (IsSkipped()) return;
    const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
    ASSERT_NE(build, nullptr) << "ctest sets it";
    program_ = std::string(build) + "/bin/railgauge";
    fill(*store_, "night-east", 3, 1500);
    expect_same();
    west_ = open_armed(folder_.file("west"));
    fill(*west_, "night-west", 2, 2500);
    Mirror west(options("west"), *west_, note_, [] { return false; });
    ASSERT_TRUE(drain(west, *west_));
  }
  static void fill(store::Store& store, const std::string& run, int tasks, double median) {
    store::plan_run(store, run, tasks);
    for (int task = 1; task <= tasks; ++task)
      store::append_passed(store, {.run_id = run, .task_id = fmt::format("t{:04}", task)}, median);
    store::PairMatrixRow matrix{
        .run_id = run, .kernel = "verbs.write_lat", .metric = "latency_ns", .unit = "ns"};
    matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
    matrix.values = {NAN, 1500, 1600, NAN};
    ASSERT_TRUE(store.put_pair_matrix(matrix));
    ASSERT_TRUE(store.update_run(
        {.run_id = run, .state = store::RunState::kEnded, .outcome = "passed", .ended_at = 1.7e9}));
    ASSERT_TRUE(store.write(store::write_finding, store::FindingRow{.finding_id = "f-" + run,
                                                                    .kind = "regression",
                                                                    .severity = "warning",
                                                                    .run_id = run,
                                                                    .summary = "slower",
                                                                    .opened_at = 1.7e9,
                                                                    .changed_at = 1.7e9}));
    ASSERT_TRUE(store.flush());
  }
  // The program's output on both streams; `code_` is its exit code.
  std::string run(const std::string& words) {
    const std::string command = fmt::format("{} --archive '{}' {} 2>&1", program_, url_, words);
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int letter = 0; (letter = std::fgetc(pipe)) != EOF;) text += static_cast<char>(letter);
    code_ = WEXITSTATUS(::pclose(pipe));
    return text;
  }

  std::string program_;
  std::unique_ptr<store::Store> west_;
  int code_ = -1;
};

TEST_F(ArchiveProcessTest, ResultsAreOfTheNewestRunOfEachSite) {
  const std::string both = run("results -o csv");
  EXPECT_EQ(code_, 0) << both;
  EXPECT_THAT(both, AllOf(HasSubstr("east,night-east,t0003"), HasSubstr("west,night-west,t0002"),
                          HasSubstr("2023-11-14T22:13:21Z")));
  const std::string one = run("--site west results");
  EXPECT_THAT(one, AllOf(HasSubstr("2500"), Not(HasSubstr("1500"))));
  EXPECT_THAT(run("results night-east --kernel verbs.read_lat -o json"),
              HasSubstr("\"points\": []"));
}

TEST_F(ArchiveProcessTest, HistoryListsSeriesAndShowsOneOfASite) {
  EXPECT_THAT(run("history -o csv"),
              AllOf(HasSubstr("east,1,"), HasSubstr("west,1,"), HasSubstr("n1/rxe0:1 n2/rxe0:1")));
  const std::string unclear = run("history 1");
  EXPECT_EQ(code_, 2);
  EXPECT_THAT(unclear, HasSubstr("sites east, west have one of this number"));
  const std::string points = run("history 1 --site east -o csv");
  EXPECT_EQ(code_, 0) << points;
  EXPECT_THAT(points, AllOf(HasSubstr("night-east,1500"), Not(HasSubstr("west"))));
}

TEST_F(ArchiveProcessTest, FindingsAndRunsAreOfAllSites) {
  EXPECT_THAT(run("findings"), AllOf(HasSubstr("f-night-east"), HasSubstr("f-night-west")));
  EXPECT_THAT(run("findings --site west"), Not(HasSubstr("f-night-east")));
  EXPECT_THAT(run("runs -o ndjson"),
              AllOf(HasSubstr("\"site\": \"east\""), HasSubstr("\"run_id\": \"night-west\"")));
}

TEST_F(ArchiveProcessTest, AMatrixIsReadFromItsContent) {
  const std::string matrix = run("runs matrix night-west");
  EXPECT_EQ(code_, 0) << matrix;
  EXPECT_THAT(matrix, AllOf(HasSubstr("night-west of west"), HasSubstr("2 nodes")));
  EXPECT_THAT(run("runs matrix night-east -o csv"), HasSubstr("1600"));
}

TEST_F(ArchiveProcessTest, SqlReadsAndNeverWrites) {
  EXPECT_THAT(run("sql 'SELECT site, count(*) AS runs FROM railgauge.runs GROUP BY 1 ORDER BY 1 "
                  "-- all' -o csv"),
              HasSubstr("site,runs\neast,1\nwest,1\n"));
  for (const char* writes :
       {"DELETE FROM railgauge.run RETURNING 1", "SELECT 1) AS a; DROP TABLE railgauge.run; --",
        "WITH gone AS (DELETE FROM railgauge.run RETURNING 1) SELECT * FROM gone",
        "SELECT set_config('transaction_read_only', 'off', false), lo_create(0)"}) {
    const std::string said = run(fmt::format("sql \"{}\"", writes));
    EXPECT_NE(code_, 0) << writes << said;
  }
  EXPECT_EQ(ask("SELECT count(*) FROM railgauge.run"), "2");
}

TEST_F(ArchiveProcessTest, SqlEndsAtItsTimeLimit) {
  const std::string said = run("sql 'SELECT pg_sleep(30)' --seconds 0.2s");
  EXPECT_EQ(code_, 4) << said;
  EXPECT_THAT(said, HasSubstr("canceling statement due to statement timeout"));
}

TEST_F(ArchiveProcessTest, WhatAnArchiveCannotAnswerIsRefused) {
  EXPECT_THAT(run("nodes"), HasSubstr("an archive answers results, history, findings"));
  EXPECT_EQ(code_, 2);
  EXPECT_THAT(run("results --stack gpu_driver=550"), HasSubstr("--stack is not for an archive"));
  EXPECT_THAT(run("history --nodes '!n1'"), HasSubstr("no exclusions"));
  url_ = "postgres://ann:secret@db/x";
  EXPECT_THAT(run("runs"), AllOf(HasSubstr("contains a password"), Not(HasSubstr("secret@"))));
}

}  // namespace
}  // namespace railgauge::mirror

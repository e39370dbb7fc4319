// Stored results over real gRPC: found, exported, compared, asked in SQL, copied, pruned.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/history/archive.h"
#include "controller/store/testing/store_testing.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_agent::ServerBench;

constexpr std::uint32_t kPoints = 2'500;  // more than a page of an export

class ArchiveTest : public testing::Test {
 protected:
  void SetUp() override {
    {
      auto store = store::open_store(bench_.config_.database);
      store::plan_run(*store, "r1", 1);
      std::vector<Record> records{store::started_record({})};
      for (std::uint32_t i = 1; i <= kPoints; ++i)
        records.push_back(store::point_record({}, i, 1'000 + i));
      records.push_back(store::final_record({}, kPoints + 1, "passed"));
      ASSERT_TRUE(store::append(*store, "id-1", records));
      ASSERT_TRUE(store->create_run(store::run_row("r2"), store::pair_tasks(1)));
      store::append_passed(*store, {.run_id = "r2"}, 4'501);
      const store::At other{.rank = 1};
      ASSERT_TRUE(store::append(
          *store, "id-2", {store::started_record(other), store::final_record(other, 1, "passed")}));
    }
    bench_.start();
    stub_ = api::Archive::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  }

  template <class Request, class Answer>
  grpc::Status ask(grpc::Status (api::Archive::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Answer*),
                   const Request& request, Answer& answer) {
    grpc::ClientContext context;
    return ((*stub_).*method)(&context, request, &answer);
  }

  ServerBench bench_;
  std::unique_ptr<api::Archive::Stub> stub_;
};

TEST_F(ArchiveTest, AnExportHasEveryPointOnceAndInOrder) {
  api::PointsRequest request;
  request.set_run_id("r1");
  grpc::ClientContext context;
  const auto stream = stub_->ExportPoints(&context, request);
  double last = 0;
  std::uint32_t count = 0;
  int pages = 0;
  for (api::ResultList page; stream->Read(&page); ++pages)
    for (const api::ResultPoint& point : page.points()) {
      EXPECT_GT(point.point().median(), last);
      last = point.point().median();
      ++count;
    }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(count, kPoints);
  EXPECT_GT(pages, 1);
}

TEST_F(ArchiveTest, AnExportStopsAtItsLimitAndTellsOfAnUnknownRun) {
  api::PointsRequest request;
  request.set_run_id("all");
  request.set_limit(2'100);
  grpc::ClientContext context;
  const auto stream = stub_->ExportPoints(&context, request);
  int count = 0;
  for (api::ResultList page; stream->Read(&page);) count += page.points_size();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(count, 2'100);
  request.set_run_id("nowhere");
  grpc::ClientContext second;
  api::ResultList page;
  const auto refused = stub_->ExportPoints(&second, request);
  EXPECT_FALSE(refused->Read(&page));
  EXPECT_EQ(refused->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(ArchiveExport, WithoutARunItStaysWithTheRunThatItBeganWith) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  std::vector<Record> records{store::started_record({})};
  for (std::uint32_t i = 1; i <= kPoints; ++i) records.push_back(store::point_record({}, i));
  ASSERT_TRUE(store::append(*store, "id-1", records));
  store::append_passed(*store, {});
  ASSERT_TRUE(store->create_run(store::run_row("r2"), store::pair_tasks(1)));
  store::append_passed(*store, {.run_id = "r2"});
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
  ASSERT_TRUE(store->flush());
  Archive archive(*store);
  auto cursor = archive.begin_export({});
  ASSERT_TRUE(cursor) << cursor.error().message;
  int count = 0;
  for (auto page = archive.next_points(*cursor); page && !page->points().empty();
       page = archive.next_points(*cursor)) {
    count += page->points_size();
    for (const api::ResultPoint& point : page->points()) EXPECT_EQ(point.run_id(), "r1");
    ASSERT_TRUE(store->update_run(
        {.run_id = "r2", .state = store::RunState::kEnded}));  // the newest from here on
    ASSERT_TRUE(store->flush());
  }
  EXPECT_EQ(count, kPoints);
}

TEST(ArchiveExport, ManyRunsComeWholeInWindowsOfFewRanks) {
  constexpr int kRuns = 40;
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  for (int run = 0; run < kRuns; ++run) {
    store::plan_run(*store, fmt::format("r{}", run), 2);
    for (const char* task : {"t0001", "t0002"})
      store::append_passed(*store, {.run_id = fmt::format("r{}", run), .task_id = task},
                           1'000 + run);
  }
  Archive archive(*store, {}, 7);  // ranks of a window: 4 of a run
  const auto count = [&archive](const api::PointsRequest& request) {
    auto cursor = archive.begin_export(request);
    EXPECT_TRUE(cursor) << cursor.error().message;
    int points = 0;
    double last = 0;
    for (auto page = archive.next_points(*cursor); page && !page->points().empty();
         page = archive.next_points(*cursor))
      for (const api::ResultPoint& point : page->points()) {
        EXPECT_GE(point.point().median(), last);
        last = point.point().median();
        ++points;
      }
    return points;
  };
  api::PointsRequest request;
  request.set_run_id("all");
  EXPECT_EQ(count(request), 2 * kRuns);
  request.set_series_id(1);
  EXPECT_EQ(count(request), 2 * kRuns);
  request.clear_series_id();
  request.set_node_set("n1");
  EXPECT_EQ(count(request), 2 * kRuns);
  request.set_kernel("verbs.write_bw");
  EXPECT_EQ(count(request), 0);
  request.clear_kernel();
  request.set_run_id("r17");
  EXPECT_EQ(count(request), 2);
}

// Three nodes in two series; what one of them was in comes series after series, each by time.
TEST(ArchiveExport, OfANodeItReadsTheNodesSeriesAlone) {
  constexpr int kRuns = 5;
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  for (int node = 1; node <= 3; ++node) ASSERT_TRUE(store->put_node(store::node_row(node)));
  for (int run = 0; run < kRuns; ++run) {
    auto tasks = store::pair_tasks(2);
    tasks[1].ranks[0] = {.node_id = "id-3", .node = "n3", .endpoint = "rxe0:1"};
    const std::string id = fmt::format("r{}", run);
    ASSERT_TRUE(store->create_run(store::run_row(id), tasks));
    store::append_passed(*store, {.run_id = id}, 1'000 + run);
    const store::At other{.run_id = id, .task_id = "t0002"};
    ASSERT_TRUE(store::append(*store, "id-3",
                              {store::started_record(other), store::point_record(other, 1, 9'000),
                               store::final_record(other, 2, "passed")}));
  }
  Archive archive(*store, {}, 1);
  const auto medians = [&archive](const std::string& nodes, std::size_t series) {
    api::PointsRequest request;
    request.set_run_id("all");
    request.set_node_set(nodes);
    request.set_all_attempts(true);
    auto cursor = archive.begin_export(request);
    EXPECT_EQ(cursor->series.value().size(), series);
    std::vector<double> found;
    for (auto page = archive.next_points(*cursor); page && !page->points().empty();
         page = archive.next_points(*cursor))
      for (const api::ResultPoint& point : page->points()) found.push_back(point.point().median());
    return found;
  };
  EXPECT_THAT(medians("n1", 1), ElementsAre(1'000, 1'001, 1'002, 1'003, 1'004));
  EXPECT_THAT(medians("n3", 1), testing::AllOf(testing::SizeIs(kRuns), testing::Each(9'000)));
  EXPECT_EQ(medians("n2", 2).size(), 2 * kRuns);
  store::NodeRow renamed = store::node_row(3);
  renamed.name = "n30";
  ASSERT_TRUE(store->put_node(renamed));
  ASSERT_TRUE(store->flush());
  EXPECT_EQ(medians("n30", 1).size(), kRuns);
  EXPECT_EQ(medians("n3", 1).size(), kRuns) << "by the name that it had";
}

TEST(ArchiveExport, OfASeriesWithMorePointsThanAPageItHasEachOnce) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  std::vector<Record> records{store::started_record({})};
  for (std::uint32_t i = 1; i <= 2 * kPoints; ++i)
    records.push_back(store::point_record({}, i, 1'000 + i));
  ASSERT_TRUE(store::append(*store, "id-1", records));
  Archive archive(*store);
  api::PointsRequest request;
  request.set_run_id("all");
  request.set_all_attempts(true);
  request.set_node_set("n1");
  auto cursor = archive.begin_export(request);
  double last = 1'000;
  int pages = 0;
  for (auto page = archive.next_points(*cursor); page && !page->points().empty();
       page = archive.next_points(*cursor), ++pages)
    for (const api::ResultPoint& point : page->points()) EXPECT_EQ(point.point().median(), ++last);
  EXPECT_EQ(last, 1'000 + 2 * kPoints);
  EXPECT_EQ(pages, 3);
}

TEST_F(ArchiveTest, AnExportEndsWhenItsCallerIsGone) {
  api::PointsRequest request;
  request.set_run_id("r1");
  grpc::ClientContext context;
  const auto stream = stub_->ExportPoints(&context, request);
  api::ResultList page;
  ASSERT_TRUE(stream->Read(&page));
  context.TryCancel();
  while (stream->Read(&page)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  api::SpaceRequest none;
  api::Space space;
  EXPECT_TRUE(ask(&api::Archive::Stub::GetSpace, none, space).ok()) << "the controller goes on";
  bench_.stop();  // hangs while a stream of it is open
}

TEST(ArchiveExport, ReadsNothingMoreForACallerThatIsGone) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  store::append_passed(*store, {});
  Archive archive(*store, {}, 1);
  for (const char* nodes : {"", "n1"}) {
    api::PointsRequest request;
    request.set_run_id("all");
    request.set_node_set(nodes);
    auto cursor = archive.begin_export(request);
    ASSERT_TRUE(cursor);
    const auto page = archive.next_points(*cursor, [] { return true; });
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, Code::kCancelled);
  }
}

TEST_F(ArchiveTest, ARunsTasksComeInPagesWithTheRunsSummary) {
  api::TasksRequest request;
  request.set_run_id("r1");
  api::TaskPage page;
  ASSERT_TRUE(ask(&api::Archive::Stub::GetTasks, request, page).ok());
  EXPECT_EQ(page.run().tasks_total(), 1u);
  ASSERT_EQ(page.tasks_size(), 1);
  EXPECT_THAT(page.tasks(0).endpoints(), ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  EXPECT_EQ(page.next(), 0);
  request.set_run_id("nowhere");
  EXPECT_EQ(ask(&api::Archive::Stub::GetTasks, request, page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ArchiveTest, FiltersHistoryAndComparisonAgree) {
  api::PointsRequest points;
  points.set_run_id("all");
  points.set_endpoint("rxe0:1");
  points.set_node_set("n[1-2]");
  points.set_limit(1);
  api::ResultList found;
  ASSERT_TRUE(ask(&api::Archive::Stub::FindPoints, points, found).ok());
  ASSERT_EQ(found.points_size(), 1) << "the newest";
  api::SeriesList series;
  ASSERT_TRUE(ask(&api::Archive::Stub::ListSeries, points, series).ok());
  ASSERT_EQ(series.series_size(), 1);
  EXPECT_THAT(series.series(0).endpoints(), ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  api::HistoryRequest request;
  request.set_series_id(series.series(0).series_id());
  request.set_limit(10);
  api::History history;
  ASSERT_TRUE(ask(&api::Archive::Stub::GetHistory, request, history).ok());
  EXPECT_EQ(history.points_size(), 10);
  api::CompareRequest both;
  both.set_run_a("r1");
  both.set_run_b("r2");
  api::Comparison comparison;
  ASSERT_TRUE(ask(&api::Archive::Stub::CompareRuns, both, comparison).ok());
  ASSERT_EQ(comparison.series_size(), 1);
  EXPECT_DOUBLE_EQ(comparison.series(0).median_a(), 1'000 + (kPoints + 1) / 2.0);
  EXPECT_EQ(comparison.series(0).median_b(), 4'501);
}

TEST_F(ArchiveTest, SqlTellsItsColumnsAndRefusesToWrite) {
  api::SqlRequest request;
  request.set_sql("SELECT count(*) AS points, 'x' AS word, NULL AS missing FROM point");
  api::SqlTable table;
  ASSERT_TRUE(ask(&api::Archive::Stub::RunSql, request, table).ok());
  EXPECT_THAT(table.columns(), ElementsAre("points", "word", "missing"));
  EXPECT_EQ(table.rows(0).values(0).number(), kPoints + 1);
  EXPECT_EQ(table.rows(0).values(1).text(), "x");
  EXPECT_FALSE(table.rows(0).values(2).has_number() || table.rows(0).values(2).has_text());
  request.set_sql("DELETE FROM point");
  const grpc::Status refused = ask(&api::Archive::Stub::RunSql, request, table);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("one SELECT"));
  request.set_sql(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  request.set_max_seconds(0.05);
  const grpc::Status endless = ask(&api::Archive::Stub::RunSql, request, table);
  EXPECT_EQ(endless.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(endless.error_message(),
            "sql: it ran longer than 0.05 s; narrow it, or allow more by --seconds");
}

TEST_F(ArchiveTest, TheDatabaseIsCheckedCopiedAndPrunedWhileTheControllerServes) {
  api::DatabaseCheck check;
  ASSERT_TRUE(ask(&api::Archive::Stub::CheckDatabase, api::CheckRequest(), check).ok());
  EXPECT_TRUE(check.sound());
  api::Space space;
  ASSERT_TRUE(ask(&api::Archive::Stub::GetSpace, api::SpaceRequest(), space).ok());
  EXPECT_EQ(space.points(), kPoints + 1);
  EXPECT_GT(space.parts_size(), 20);
  api::BackUpRequest backup;
  backup.set_path("../outside.db");
  api::BackUpReport report;
  EXPECT_EQ(ask(&api::Archive::Stub::BackUp, backup, report).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  backup.set_path("copy.db");
  ASSERT_TRUE(ask(&api::Archive::Stub::BackUp, backup, report).ok());
  EXPECT_EQ(report.path(), bench_.path("backups/copy.db"));
  EXPECT_GT(report.bytes(), 100'000);
  EXPECT_EQ(ask(&api::Archive::Stub::BackUp, backup, report).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  api::PruneReport pruned;
  ASSERT_TRUE(ask(&api::Archive::Stub::Prune, api::PruneRequest(), pruned).ok());
  EXPECT_EQ(pruned.points(), 0) << "nothing is old";
}

TEST(ArchiveHappenings, TasksAreGroupedByOutcomeAndKindOfReason) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  ASSERT_TRUE(store->create_run(store::run_row("r1"), store::pair_tasks(40)));
  for (int i = 1; i <= 40; ++i)
    ASSERT_TRUE(store->update_task({.run_id = "r1",
                                    .task_id = fmt::format("t{:04}", i),
                                    .state = store::TaskState::kEnded,
                                    .outcome = i <= 30   ? "passed"
                                               : i <= 38 ? "waived"
                                                         : "failed",
                                    .reason = i <= 30   ? ""
                                              : i <= 38 ? fmt::format("n{} rank 0: no GPU", i % 2)
                                                        : "wrong bytes"}));
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
  ASSERT_TRUE(store->flush());
  Archive archive(*store);
  const auto groups = archive.get_task_groups({});
  ASSERT_TRUE(groups) << groups.error().message;
  EXPECT_EQ(groups->run().run_id(), "r1") << "the newest that ended";
  ASSERT_EQ(groups->groups_size(), 3);
  EXPECT_EQ(groups->groups(0).outcome(), "failed");
  EXPECT_EQ(groups->groups(0).tasks(), 2);
  EXPECT_EQ(groups->groups(0).first_task_id(), "t0039");
  EXPECT_EQ(groups->groups(1).reason(), "n[0-1] rank 0: no GPU");
  EXPECT_EQ(groups->groups(1).endpoints(), "n[1-2]/rxe0:1");
  EXPECT_EQ(groups->groups(1).tasks(), 8);
  EXPECT_EQ(groups->groups(2).outcome(), "passed");
  EXPECT_EQ(groups->groups(2).tasks(), 30);
  EXPECT_EQ(groups->groups(2).endpoints(), "");
  api::TaskGroupsRequest unknown;
  unknown.set_run_id("none");
  EXPECT_EQ(archive.get_task_groups(unknown).error().code, Code::kInvalidArgument);
}

TEST(ArchiveHappenings, TheNodeThatAllFailedTasksShareIsNamed) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  for (int node = 1; node <= 5; ++node) ASSERT_TRUE(store->put_node(store::node_row(node)));
  std::vector<store::TaskRow> tasks = store::pair_tasks(4);
  for (int i = 0; i < 4; ++i) {
    store::TaskRow& task = tasks[static_cast<std::size_t>(i)];
    task.ranks[0].node_id = fmt::format("id-{}", i + 1);
    task.ranks[0].node = fmt::format("n{}", i + 1);
    task.ranks[1].node_id = "id-5";
    task.ranks[1].node = "n5";
  }
  ASSERT_TRUE(store->create_run(store::run_row("r1"), tasks));
  for (const store::TaskRow& task : tasks)
    ASSERT_TRUE(store->update_task(
        {.run_id = "r1",
         .task_id = task.task_id,
         .state = store::TaskState::kEnded,
         .outcome = "failed",
         .reason = fmt::format("rank 0 on {}: wrong bytes; rank 1 on n5: wrong bytes",
                               task.ranks[0].node)}));
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
  ASSERT_TRUE(store->flush());
  const auto groups = Archive(*store).get_task_groups({});
  ASSERT_TRUE(groups) << groups.error().message;
  ASSERT_EQ(groups->groups_size(), 1);
  EXPECT_EQ(groups->groups(0).reason(), "rank [0-1] on n[1-5]: wrong bytes; all with n5");
}

TEST(ArchiveHappenings, EventsAreFoundAndFollowed) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  ASSERT_TRUE(store->put_node(store::node_row(1)));
  Archive archive(*store);
  EXPECT_EQ(archive.list_events({})->newest_event_id(), 0);
  ASSERT_TRUE(store->add_event({.kind = "watch_xid", .node_id = "id-1", .text = "Xid 79"}));
  ASSERT_TRUE(store->flush());
  const auto all = archive.list_events({});
  ASSERT_EQ(all->events_size(), 1);
  EXPECT_EQ(all->events(0).node(), "n1");
  EXPECT_FALSE(all->events(0).has_run_id());
  EXPECT_EQ(all->newest_event_id(), all->events(0).event_id());
  api::EventsRequest request;
  request.set_after_event_id(all->newest_event_id());
  EXPECT_EQ(archive.list_events(request)->events_size(), 0);
  request.Clear();
  request.set_kinds("stack");
  const auto none = archive.list_events(request);
  EXPECT_EQ(none->events_size(), 0);
  EXPECT_THAT(none->kinds(), ElementsAre("watch_xid"));
  request.set_node_set("n7");
  EXPECT_EQ(archive.list_events(request).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge

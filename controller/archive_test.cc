// What is stored, over real gRPC: found, exported, compared, asked in SQL, copied, pruned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/archive.h"
#include "controller/store/store_testing.h"
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
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = "ended"}));
  ASSERT_TRUE(store->flush());
  Archive archive(*store);
  auto cursor = archive.begin_export({});
  ASSERT_TRUE(cursor) << cursor.error().message;
  int count = 0;
  for (auto page = archive.next_points(*cursor); page && !page->points().empty();
       page = archive.next_points(*cursor)) {
    count += page->points_size();
    for (const api::ResultPoint& point : page->points()) EXPECT_EQ(point.run_id(), "r1");
    ASSERT_TRUE(store->update_run({.run_id = "r2", .state = "ended"}));  // the newest from here on
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
  backup.set_path("relative");
  api::BackUpReport report;
  EXPECT_EQ(ask(&api::Archive::Stub::BackUp, backup, report).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  backup.set_path(bench_.path("copy.db"));
  ASSERT_TRUE(ask(&api::Archive::Stub::BackUp, backup, report).ok());
  EXPECT_GT(report.bytes(), 100'000);
  EXPECT_EQ(ask(&api::Archive::Stub::BackUp, backup, report).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  api::PruneReport pruned;
  ASSERT_TRUE(ask(&api::Archive::Stub::Prune, api::PruneRequest(), pruned).ok());
  EXPECT_EQ(pruned.points(), 0) << "nothing is old";
}

}  // namespace
}  // namespace railgauge

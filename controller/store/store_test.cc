// Points: what comes back, what counts, what is put aside.
#include "controller/store/store.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- points ------------------------------------------------------------------------------------

TEST_F(StoreTest, APointComesBackWithAllThatBelongsToIt) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {});
  const auto rows = results({.run_id = "r1"});
  ASSERT_EQ(rows.size(), 1u);
  const ResultRow& row = rows[0];
  EXPECT_EQ(row.task_id, "t0001");
  EXPECT_EQ(row.attempt, 1u);
  EXPECT_EQ(row.kernel, "verbs.write_lat");
  EXPECT_EQ(row.revision, 3u);
  EXPECT_THAT(row.endpoints, ElementsAre("n1/rxe0:1", "n2/rxe0:1"));
  EXPECT_EQ(row.measured_at, 1.7e9 + 1);
  EXPECT_EQ(row.outcome, "passed");
  EXPECT_EQ(row.parameters.at("sizes"), "8");
  EXPECT_EQ(row.facts.at("path"), "host, RC");
  Point expected = point_record({}, 1).point();
  expected.clear_histogram();
  EXPECT_EQ(row.point.SerializeAsString(), expected.SerializeAsString())
      << row.point.ShortDebugString();
}

TEST_F(StoreTest, AbsentFiguresStayAbsent) {
  plan_run(*store_, "r1", 1);
  Record bare = record_at({}, 1);
  bare.mutable_point()->set_metric("latency_ns");
  bare.mutable_point()->set_median(0);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({}), bare}));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].point.has_median_low());
  EXPECT_FALSE(rows[0].point.has_p25());
  EXPECT_FALSE(rows[0].point.has_p999());
  EXPECT_EQ(rows[0].outcome, "");
  const auto histogram = store_->histogram("r1", "t0001", 1, 0, 1);
  ASSERT_FALSE(histogram);
  EXPECT_EQ(histogram.error().code, Code::kNotFound);
}

TEST_F(StoreTest, HistogramsAndRawSamplesComeBackWhole) {
  plan_run(*store_, "r1", 1);
  Record record = point_record({}, 1);
  for (int i = 0; i < 5'000; ++i) record.mutable_point()->add_samples(1000 + i % 17 + 0.125);
  ASSERT_TRUE(append(*store_, "id-1", {started_record({}), record}));
  const auto histogram = store_->histogram("r1", "t0001", 1, 0, 1);
  ASSERT_TRUE(histogram) << histogram.error().message;
  EXPECT_EQ(histogram->SerializeAsString(), record.point().histogram().SerializeAsString());
  const auto samples = store_->samples("r1", "t0001", 1, 0, 1);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_THAT(*samples, testing::ElementsAreArray(record.point().samples()));
}

TEST_F(StoreTest, APointsOwnFactsStandOnThePoint) {
  plan_run(*store_, "r1", 1);
  Record record = point_record({}, 1);
  (*record.mutable_point()->mutable_facts())["quote\"d"] = "two\nlines \\ and \x01";
  ASSERT_TRUE(append(*store_, "id-1", {started_record({}), record}));
  EXPECT_EQ(all().at(0).point.facts().at("quote\"d"), "two\nlines \\ and \x01");
}

TEST_F(StoreTest, StoringTwiceIsANoOp) {
  plan_run(*store_, "r1", 1);
  Record note = note_record({}, 2, "fell back");
  note.mutable_note()->set_severity("warn");  // as an earlier runner writes it
  const std::vector<Record> batch{started_record({}), point_record({}, 1), note,
                                  final_record({}, 3, "passed")};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(*store_, "id-1", batch));
  reopen();
  ASSERT_TRUE(append(*store_, "id-1", batch));
  EXPECT_EQ(all().size(), 1u);
  const auto detail = store_->run_detail("r1");
  ASSERT_TRUE(detail) << detail.error().message;
  ASSERT_EQ(detail->tasks.at(0).ranks.at(0).notes.size(), 1u);
  EXPECT_EQ(detail->tasks.at(0).ranks.at(0).notes.at(0).severity(), "warning");
  EXPECT_EQ(store_->stats()->orphan_records, 0);
}

TEST_F(StoreTest, ASeriesStaysTheSameWhenOnlyFactsChange) {
  plan_run(*store_, "r1", 3);
  append_passed(*store_, {.task_id = "t0001"});
  Record after_upgrade = started_record({.task_id = "t0002"});
  (*after_upgrade.mutable_started()->mutable_facts())["rdma_core"] = "47.0";
  ASSERT_TRUE(append(*store_, "id-1", {after_upgrade, point_record({.task_id = "t0002"}, 1)}));
  Record deeper = started_record({.task_id = "t0003"});
  (*deeper.mutable_started()->mutable_parameters())["depth"] = "4";
  ASSERT_TRUE(append(*store_, "id-1", {deeper, point_record({.task_id = "t0003"}, 1)}));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 3u);
  std::map<std::string, std::int64_t> series;
  for (const ResultRow& row : rows) series[row.task_id] = row.series_id;
  EXPECT_EQ(series["t0001"], series["t0002"]);
  EXPECT_NE(series["t0001"], series["t0003"]) << "depth is part of the identity";
}

TEST_F(StoreTest, ASeriesSurvivesARenamedDevice) {
  NodeRow node = node_row(1);
  node.endpoints[0].pci_address = "0000:3b:00.0";
  node.endpoints[0].device = "mlx5_0";
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->put_node(node_row(2)));
  std::vector<TaskRow> before = pair_tasks(1);
  before[0].ranks[0].endpoint = "mlx5_0:1";
  ASSERT_TRUE(store_->create_run(run_row("r1"), before));
  Record started = started_record({});
  started.mutable_started()->set_endpoint("mlx5_0:1");
  ASSERT_TRUE(append(*store_, "id-1", {started, point_record({}, 1)}));

  node.endpoints[0].device = "rocep59s0";
  ASSERT_TRUE(store_->put_node(node));
  std::vector<TaskRow> after = pair_tasks(1);
  after[0].ranks[0].endpoint = "rocep59s0:1";
  ASSERT_TRUE(store_->create_run(run_row("r2"), after));
  started = started_record({.run_id = "r2"});
  started.mutable_started()->set_endpoint("rocep59s0:1");
  ASSERT_TRUE(append(*store_, "id-1", {started, point_record({.run_id = "r2"}, 1)}));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].series_id, rows[1].series_id);
  EXPECT_NE(rows[0].endpoints, rows[1].endpoints) << "people see the name of that day";
}

// A task of one rank on a GPU of n1, named as the agent numbers it that day.
std::vector<TaskRow> gpu_task(const std::string& endpoint) {
  std::vector<TaskRow> tasks = pair_tasks(1);
  tasks[0].ranks = {{.node_id = "id-1", .node = "n1", .endpoint = endpoint}};
  return tasks;
}

TEST_F(StoreTest, AGpusSeriesFollowsItsSlotNotItsNumber) {
  NodeRow node = node_row(1);
  node.endpoints = {
      {.kind = "gpu", .device = "gpu1", .pci_address = "0000:9f:00.0", .guid = "GPU-1"}};
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->create_run(run_row("r1"), gpu_task("gpu1")));
  Record started = started_record({});
  started.mutable_started()->set_endpoint("gpu1");
  ASSERT_TRUE(append(*store_, "id-1", {started, point_record({}, 1)}));

  // The GPU before it is gone, another one in its own slot would have another UUID.
  node.endpoints[0].device = "gpu0";
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->create_run(run_row("r2"), gpu_task("gpu0")));
  started = started_record({.run_id = "r2"});
  started.mutable_started()->set_endpoint("gpu0");
  ASSERT_TRUE(append(*store_, "id-1", {started, point_record({.run_id = "r2"}, 1)}));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].series_id, rows[1].series_id);
}

// The parameters of the tasks are equal: the runner names the slice in its record.
TEST_F(StoreTest, SlicesOfOneGpuHaveSeriesOfTheirOwn) {
  std::map<std::string, std::int64_t> series;
  for (const char* run : {"r1", "r2", "r3"}) {
    std::vector<TaskRow> tasks = gpu_task("gpu0");
    tasks[0].identity_parameters = {"slices", "slice_uuid"};
    ASSERT_TRUE(store_->create_run(run_row(run), tasks));
    Record started = started_record({.run_id = run});
    auto& parameters = *started.mutable_started()->mutable_parameters();
    started.mutable_started()->set_endpoint("gpu0");
    parameters["slices"] = "measure";
    parameters["slice_uuid"] = std::string_view(run) == "r2" ? "MIG-2" : "MIG-1";
    ASSERT_TRUE(append(*store_, "id-1", {started, point_record({.run_id = run}, 1)}));
  }
  for (const ResultRow& row : all()) series[row.run_id] = row.series_id;
  EXPECT_EQ(series["r1"], series["r3"]);
  EXPECT_NE(series["r1"], series["r2"]);
}

TEST_F(StoreTest, APairIsPartOfTheSeriesAndThrottlingIsKept) {
  plan_run(*store_, "r1", 1);
  std::vector<Record> records{started_record({})};
  for (const char* pair : {"gpu0>gpu1", "gpu1>gpu0", "gpu0>gpu1"}) {
    Record record = point_record({}, static_cast<std::uint32_t>(records.size()));
    record.mutable_point()->set_pair(pair);
    record.mutable_point()->set_throttled(records.size() == 2);
    records.push_back(record);
  }
  ASSERT_TRUE(append(*store_, "id-1", records));
  const auto rows = all();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].series_id, rows[2].series_id);
  EXPECT_NE(rows[0].series_id, rows[1].series_id);
  EXPECT_EQ(rows[1].point.pair(), "gpu1>gpu0");
  EXPECT_FALSE(rows[0].point.throttled());
  EXPECT_TRUE(rows[1].point.throttled());
}

TEST_F(StoreTest, TheLastAttemptWithAFinalRecordCounts) {
  plan_run(*store_, "r1", 1);
  append_passed(*store_, {.attempt = 1}, 1000);
  append_passed(*store_, {.attempt = 2}, 2000);
  ASSERT_TRUE(append(*store_, "id-1",
                     {started_record({.attempt = 3}), point_record({.attempt = 3}, 1, 3000)}));
  const auto counted = results({.run_id = "r1"});
  ASSERT_EQ(counted.size(), 1u);
  EXPECT_EQ(counted[0].attempt, 2u);
  EXPECT_EQ(counted[0].point.median(), 2000);
  EXPECT_EQ(results({.run_id = "r1", .all_attempts = true}).size(), 3u) << "none is hidden";
  const auto detail = store_->run_detail("r1");
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->tasks.at(0).counted_attempt, 2u);
}

TEST_F(StoreTest, AnAttemptsOutcomeIsTheControllersWordElseTheWorstRank) {
  plan_run(*store_, "r1", 2);
  const At first{.task_id = "t0001"};
  ASSERT_TRUE(
      append(*store_, "id-1",
             {started_record(first), point_record(first, 1), final_record(first, 2, "passed")}));
  EXPECT_EQ(all().at(0).outcome, "") << "one rank has not ended";
  ASSERT_TRUE(append(*store_, "id-2", {final_record({.rank = 1}, 0, "failed", "wrong bytes")}));
  EXPECT_EQ(all().at(0).outcome, "failed");
  ASSERT_TRUE(store_->update_task(
      {.run_id = "r1", .task_id = "t0001", .outcome = "timed_out", .attempts = 1}));
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(all().at(0).outcome, "timed_out");
}

TEST_F(StoreTest, FiltersNarrowTheResults) {
  plan_run(*store_, "r1", 2);
  ASSERT_TRUE(store_->put_node(node_row(3)));
  std::vector<TaskRow> other = pair_tasks(1);
  other[0].kernel = "verbs.write_bw";
  other[0].ranks[1] = {.node_id = "id-3", .node = "n3", .endpoint = "rxe0:1"};
  ASSERT_TRUE(store_->create_run(run_row("r2"), other));
  append_passed(*store_, {.task_id = "t0001"}, 1);
  append_passed(*store_, {.task_id = "t0002"}, 2);
  Record started = started_record({.run_id = "r2"});
  started.mutable_started()->set_kernel("verbs.write_bw");
  Record point = point_record({.run_id = "r2"}, 1);
  point.mutable_point()->set_metric("bandwidth_bytes_per_second");
  point.mutable_point()->set_message_bytes(65536);
  ASSERT_TRUE(
      append(*store_, "id-1", {started, point, final_record({.run_id = "r2"}, 2, "passed")}));

  EXPECT_EQ(results({.run_id = "all"}).size(), 3u);
  EXPECT_EQ(results({.run_id = "r1"}).size(), 2u);
  EXPECT_EQ(results({.run_id = "all", .kernel = "verbs.write_bw"}).size(), 1u);
  EXPECT_EQ(results({.run_id = "r1", .kernel = "verbs.write_bw"}).size(), 0u);
  EXPECT_EQ(results({.run_id = "all", .metric = "latency_ns"}).size(), 2u);
  EXPECT_EQ(results({.run_id = "all", .message_bytes = 65536}).size(), 1u);
  EXPECT_EQ(results({.run_id = "all", .nodes = {"n3"}}).size(), 1u);
  EXPECT_EQ(results({.run_id = "all", .nodes = {"id-2"}}).size(), 2u);
  EXPECT_EQ(results({.run_id = "all", .nodes = {"n2", "n3"}}).size(), 3u);
  EXPECT_EQ(results({.run_id = "all", .nodes = {"n1"}, .limit = 2}).size(), 2u);
  EXPECT_EQ(results({.run_id = "all", .nodes = {"nobody"}}).size(), 0u);
}

TEST_F(StoreTest, TheNewestEndedRunIsTheDefault) {
  EXPECT_THAT(results({}), IsEmpty()) << "no run at all";
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  append_passed(*store_, {.run_id = "r1"}, 1);
  append_passed(*store_, {.run_id = "r2"}, 2);
  EXPECT_THAT(results({}), IsEmpty()) << "none has ended";
  ASSERT_TRUE(store_->update_run({.run_id = "r1", .state = RunState::kEnded}));
  ASSERT_TRUE(store_->flush());
  ASSERT_EQ(results({}).size(), 1u);
  EXPECT_EQ(results({})[0].run_id, "r1");
  const auto unknown = store_->results({.run_id = "r9"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("run r9"));
}

// --- records that fit nowhere ------------------------------------------------------------------

TEST_F(StoreTest, WhatFitsNoPlannedTaskIsPutAsideWithOneEvent) {
  plan_run(*store_, "r1", 1);
  std::vector<Record> batch{started_record({.run_id = "r9"}),
                            started_record({.task_id = "t9"}),
                            started_record({.rank = 7}),
                            point_record({.attempt = 2}, 1),
                            started_record({}),
                            point_record({}, 1)};
  Record other_kernel = started_record({.attempt = 3});
  other_kernel.mutable_started()->set_kernel("verbs.read_lat");
  batch.push_back(other_kernel);
  ASSERT_TRUE(append(*store_, "id-1", batch));
  ASSERT_TRUE(append(*store_, "id-1", batch)) << "delivered twice";
  EXPECT_EQ(store_->stats()->orphan_records, 5);
  EXPECT_EQ(all().size(), 1u) << "the sound ones among them are stored";
  const auto events = store_->list_events(10);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(events->at(0).kind, "record_refused");
  EXPECT_EQ(events->at(0).node_id, "id-1");
  EXPECT_EQ(events->at(0).text,
            "5 of 7 records put aside; r9/t0001#1.0 sequence 0: no such run or task was planned");
}

TEST_F(StoreTest, ANodeCannotReportForAnother) {
  plan_run(*store_, "r1", 1);
  ASSERT_TRUE(append(*store_, "id-2", {started_record({}), point_record({}, 1)}));
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_THAT(store_->list_events(1)->at(0).text, HasSubstr("planned on another node (id-1)"));
}

TEST_F(StoreTest, GarbageNeverBlocksADelivery) {
  plan_run(*store_, "r1", 1);
  std::vector<Record> batch{started_record({}), Record(), record_at({}, 5), record_at({}, 6)};
  batch[3].mutable_final()->set_outcome("two words");
  for (const double figure : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    batch.push_back(point_record({}, 7));
    batch.back().mutable_point()->set_p25(figure);
    batch.push_back(point_record({}, 8));
    batch.back().set_unix_time_seconds(figure);
  }
  batch.push_back(point_record({}, 9));
  batch.back().mutable_point()->set_metric("two words");
  batch.push_back(point_record({}, 10));
  batch.back().mutable_point()->mutable_histogram()->add_count(1);
  batch.push_back(point_record({}, 11));
  ASSERT_TRUE(append(*store_, "id-1", batch));
  EXPECT_EQ(all().size(), 1u);
  EXPECT_EQ(store_->stats()->orphan_records, 7) << "two keys stood twice";
}

TEST_F(StoreTest, ATimeOrASequenceThatNoClockOrTaskHasIsPutAside) {
  plan_run(*store_, "r1", 1);
  std::vector<Record> batch{started_record({})};
  for (const double time : {-1.0, 253'402'300'800.0, 1e300}) {
    batch.push_back(point_record({}, static_cast<std::uint32_t>(batch.size())));
    batch.back().set_unix_time_seconds(time);
  }
  batch.push_back(point_record({}, 1U << 20U));
  batch.push_back(point_record({}, (1U << 20U) - 1));
  batch.back().set_unix_time_seconds(1.7e9 + 0.0126);
  ASSERT_TRUE(append(*store_, "id-1", batch));
  EXPECT_EQ(store_->stats()->orphan_records, 4);
  const auto rows = all();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().sequence, (1U << 20U) - 1);
  EXPECT_EQ(rows.front().measured_at, 1'700'000'000.013) << "whole milliseconds";
}

TEST_F(StoreTest, OrphansAreBoundedByBytesAndWhatGoesIsTold) {
  store_.reset();
  store_ = open_store(folder_.file("db"), {.max_orphan_bytes = 1'000'000});
  std::vector<Record> batch;
  for (std::uint32_t i = 0; i < 12'000; ++i) batch.push_back(record_at({.run_id = "r9"}, i));
  ASSERT_TRUE(append(*store_, "id-1", batch));
  const StoreStats stats = *store_->stats();
  EXPECT_GT(stats.orphans_dropped, 0);
  EXPECT_EQ(stats.orphan_records + stats.orphans_dropped, 12'000);
  EXPECT_GT(stats.orphan_records, 3'000);
  const auto events = store_->list_events(1'000);
  ASSERT_TRUE(events);
  EXPECT_THAT(events->at(1).kind, "orphans_dropped");
  EXPECT_THAT(events->at(1).text, HasSubstr("more than 1.0 MB"));
  reopen();
  EXPECT_EQ(store_->stats()->orphan_records, stats.orphan_records);
}

TEST_F(StoreTest, OrphansAreStoredWhenTheirAttemptIsDispatched) {
  for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
  Record large = point_record({}, 1);
  for (int i = 0; i < 20'000; ++i) large.mutable_point()->add_samples(1500.5 + i);
  std::vector<Record> batch{started_record({}), large};
  for (std::uint32_t i = 2; i <= 600; ++i) batch.push_back(point_record({}, i));
  batch.push_back(final_record({}, 601, "passed"));
  batch.push_back(started_record({.task_id = "t9"}));
  ASSERT_TRUE(deliver(*store_, "id-1", batch));
  EXPECT_EQ(store_->stats()->orphan_records, 603);
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(1)));
  EXPECT_EQ(store_->stats()->orphan_records, 603) << "nobody was asked to measure it yet";
  dispatch(*store_, "r1", "t0001", 2);
  dispatch(*store_, "r1", "t0001");
  ASSERT_TRUE(store_->flush());
  EXPECT_EQ(store_->results({.run_id = "r1", .all_attempts = true, .limit = 1'000})->size(), 600u);
  EXPECT_EQ(store_->samples("r1", "t0001", 1, 0, 1)->size(), 20'000u) << "long ones are whole";
  EXPECT_EQ(store_->stats()->orphan_records, 1) << "what fits nowhere still stays";
}

TEST_F(StoreTest, WhatChangedIsNotPushedOutByNodesThatComeAndGo) {
  auto connection = Connection::open(folder_.file("db"), Connection::Mode::kCreate, 5);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->script("BEGIN"));
  ASSERT_TRUE(insert_event(*connection, {.at = 1, .kind = "stack_changed", .text = "kept"}));
  for (std::int64_t i = 0; i < kMaxEvents + 2'500; ++i)
    ASSERT_TRUE(insert_event(*connection, {.at = 2, .kind = "node_attached"}));
  ASSERT_TRUE(connection->script("COMMIT"));
  const auto count = [&](std::string_view kind) {
    return **connection->integer("SELECT count(*) FROM event WHERE kind=?1", kind);
  };
  EXPECT_EQ(count("stack_changed"), 1);
  EXPECT_GE(count("node_attached"), kMaxEvents);
  EXPECT_LE(count("node_attached"), kMaxEvents + 1'001);
}

}  // namespace
}  // namespace railgauge::store

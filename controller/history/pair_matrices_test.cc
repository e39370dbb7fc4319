// Pair matrices from points, and through the whole controller with scripted agents (synthetic).
#include "controller/history/pair_matrices.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>

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
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;

store::NodeRow node(const std::string& name, const std::string& leaf = "") {
  store::NodeRow row{.node_id = "id-" + name, .name = name, .described = {{"leaf", leaf}}};
  row.endpoints = {{.kind = "nic", .device = "x", .port = 1, .pci_address = "0000:1b:00.0"},
                   {.kind = "nic", .device = "y", .port = 1, .pci_address = "0000:9a:00.0"}};
  return row;
}

PairPoint bandwidth(const std::string& from, const std::string& to, double value,
                    const std::string& memory = "host") {
  return {.series = {.kernel = "verbs.write_bw",
                     .metric = "bandwidth_bytes_per_second",
                     .unit = "bytes_per_second",
                     .message_bytes = 65536,
                     .larger_is_better = true},
          .from = from,
          .to = to,
          .memory = memory,
          .value = value};
}

std::vector<store::PairMatrixRow> matrices_of(const std::string& run_id,
                                              const std::vector<PairPoint>& points,
                                              const PortMap& ports) {
  std::vector<store::PairMatrixRow> matrices;
  EXPECT_TRUE(make_matrices(run_id, points, ports, [&matrices](store::PairMatrixRow matrix) {
    matrices.push_back(std::move(matrix));
    return Status();
  }));
  return matrices;
}

TEST(PairMatrices, HoldBothDirectionsAndTheMedianOfRepetitions) {
  const PortMap ports({node("a"), node("b")});
  const auto matrices =
      matrices_of("r1",
                  {bandwidth("a/x:1", "b/x:1", 10), bandwidth("a/x:1", "b/x:1", 30),
                   bandwidth("a/x:1", "b/x:1", 20), bandwidth("b/x:1", "a/x:1", 5)},
                  ports);
  ASSERT_THAT(matrices, SizeIs(1));
  EXPECT_EQ(matrices[0].rail, 0);
  EXPECT_THAT(matrices[0].endpoints, ElementsAre("a/x:1", "b/x:1"));
  EXPECT_EQ(matrices[0].values[1], 20);
  EXPECT_EQ(matrices[0].values[2], 5);
  EXPECT_TRUE(std::isnan(matrices[0].values[0]));
}

TEST(PairMatrices, AreOneForEachRailSeriesAndKeepMemoryApartByRows) {
  const PortMap ports({node("a"), node("b")});
  std::vector<PairPoint> points{bandwidth("a/x:1", "b/x:1", 10),
                                bandwidth("a/x:1", "b/x:1", 8, "gpu"),
                                bandwidth("a/x:1+gpu1", "b/x:1+gpu0", 7, "gpu"),
                                bandwidth("a/y:1", "b/y:1", 11), bandwidth("a/x:1", "b/y:1", 3)};
  points.push_back(bandwidth("a/x:1", "b/x:1", 9));
  points.back().series.message_bytes = 8;
  const auto matrices = matrices_of("r1", points, ports);
  std::vector<std::string> told;
  for (const auto& matrix : matrices)
    told.push_back(fmt::format("{} {} {}", matrix.message_bytes, matrix.rail,
                               fmt::join(matrix.endpoints, " ")));
  EXPECT_THAT(told, ElementsAre("8 0 a/x:1 b/x:1", "65536 -1 a/x:1 b/y:1",
                                "65536 0 a/x:1 a/x:1+gpu a/x:1+gpu1 b/x:1 b/x:1+gpu b/x:1+gpu0",
                                "65536 1 a/y:1 b/y:1"));
}

std::vector<PairPoint> with_one_slow_pair() {
  std::vector<PairPoint> points;
  for (int from = 0; from < 6; ++from)
    for (int to = 0; to < 6; ++to)
      if (from != to)
        points.push_back(bandwidth(fmt::format("n{}/x:1", from), fmt::format("n{}/x:1", to),
                                   from == 2 && to == 4 ? 500 : 1000 + (from * 5 + to * 3) % 7));
  return points;
}

TEST(PairMatrices, NameTheOutliersWithWhatWasExpected) {
  std::vector<store::NodeRow> nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(node(fmt::format("n{}", i)));
  const auto matrices = matrices_of("r1", with_one_slow_pair(), PortMap(nodes));
  ASSERT_THAT(matrices, SizeIs(1));
  ASSERT_THAT(matrices[0].outliers, SizeIs(1));
  EXPECT_EQ(matrices[0].outliers[0].from, 2u);
  EXPECT_EQ(matrices[0].outliers[0].to, 4u);
  EXPECT_EQ(matrices[0].outliers[0].value, 500);
  EXPECT_NEAR(*matrices[0].outliers[0].expected, 1003, 4);
}

// NCCL between nodes names no port; the row's name says the memory, as it does with one.
TEST(PairMatrices, NameTheOutliersOfGpuMemoryOfEndsWithoutAPort) {
  std::vector<store::NodeRow> nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(node(fmt::format("n{}", i)));
  std::vector<PairPoint> points = with_one_slow_pair();
  for (PairPoint& point : points) {
    point.from = split_endpoint(point.from).first;
    point.to = split_endpoint(point.to).first;
    point.memory = "gpu";
  }
  const auto matrices = matrices_of("r1", points, PortMap(nodes));
  ASSERT_THAT(matrices, SizeIs(1));
  EXPECT_EQ(matrices[0].endpoints[2], "n2+gpu");
  ASSERT_THAT(matrices[0].outliers, SizeIs(1));
  EXPECT_EQ(matrices[0].outliers[0].from, 2u);
  EXPECT_EQ(matrices[0].outliers[0].to, 4u);
}

TEST(PairMatrices, RowsTellNodePortAndMemory) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(split_endpoint("n1/x:1+gpu0"), Pair("n1", "x:1"));
  EXPECT_EQ(split_endpoint("n1/x:1+gpu"), Pair("n1", "x:1"));
  EXPECT_EQ(split_endpoint("n1+gpu"), Pair("n1", ""));
  EXPECT_EQ(split_endpoint("n1"), Pair("n1", ""));
  EXPECT_EQ(memory_of_row("n1/x:1+gpu0"), "gpu");
  EXPECT_EQ(memory_of_row("n1/x:1"), "host");
  EXPECT_EQ(memory_of_row("n1+gpu"), "gpu");
  EXPECT_EQ(memory_of_row("n1"), "host");
}

TEST(PairMatrices, AnErrorOfWhoTakesThemEndsIt) {
  int asked = 0;
  const PortMap ports({node("a"), node("b")});
  const Status made =
      make_matrices("r1", {bandwidth("a/x:1", "b/x:1", 10), bandwidth("a/y:1", "b/y:1", 11)}, ports,
                    [&asked](const store::PairMatrixRow&) -> Status {
                      ++asked;
                      return fail(Code::kUnavailable, "full");
                    });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(made.error().message, "full");
}

// A pair that was planned and has no figure is missing: neither good nor an outlier.
TEST(PairMatrices, HaveNoOutlierWhereNothingWasMeasured) {
  std::vector<store::NodeRow> nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(node(fmt::format("n{}", i)));
  std::vector<PairPoint> points = with_one_slow_pair();
  std::erase_if(points, [](const PairPoint& point) {
    return point.from == "n1/x:1" || (point.from == "n3/x:1" && point.to == "n5/x:1");
  });
  const auto matrices = matrices_of("r1", points, PortMap(nodes));
  ASSERT_THAT(matrices, SizeIs(1));
  ASSERT_THAT(matrices[0].endpoints, SizeIs(6));
  EXPECT_TRUE(std::isnan(matrices[0].values[1 * 6 + 4]));
  EXPECT_TRUE(std::isnan(matrices[0].values[3 * 6 + 5]));
  ASSERT_THAT(matrices[0].outliers, SizeIs(1));
  EXPECT_EQ(matrices[0].outliers[0].from, 2u);
  EXPECT_EQ(matrices[0].outliers[0].to, 4u);
}

TEST(PairMatrices, OfNothingAreNone) { EXPECT_THAT(matrices_of("r1", {}, PortMap({})), IsEmpty()); }

TEST(PortMap, TakesTheTopologysLeavesBeforeWhatTheNodesTell) {
  const PortMap ports({node("a", "l1"), node("b", "l2")}, {{"b", "rack7"}});
  EXPECT_EQ(ports.leaf("a"), "l1");
  EXPECT_EQ(ports.leaf("b"), "rack7");
}

// The statement of a run's figures must not depend on whether its matrices are written yet.
TEST(PairMatrices, AnswerAsThePointsDo) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  store::append_passed(*store, {});
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
  ASSERT_TRUE(store->flush());
  Archive archive(*store, {}, Archive::kExportRanks, [](const auto&) {
    return LeafMap{{"n1", "l1"}, {"n2", "l2"}};
  });
  api::PairsRequest request;
  request.set_run_id("r1");
  const auto before = archive.get_matrix(request);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_THAT(before->leaves(), ElementsAre("l1", "l2"));
  ASSERT_TRUE(store->pair_matrices("r1")->empty());
  const std::atomic<bool> stops = true;
  const Status cut = store_pair_matrices(*store, "r1", {}, &stops);
  ASSERT_FALSE(cut) << "a controller that stops does not wait for them";
  EXPECT_EQ(cut.error().code, Code::kCancelled);
  ASSERT_TRUE(store->pair_matrices("r1")->empty());
  ASSERT_TRUE(store_pair_matrices(*store, "r1", {}));
  ASSERT_THAT(*store->pair_matrices("r1"), SizeIs(1));
  EXPECT_EQ(archive.get_matrix(request)->DebugString(), before->DebugString());
}

// The keeper writes after the run's end is reported, so that this polls until the matrix is there.
std::int64_t stored_matrices(api::Archive::Stub& archive) {
  api::SqlRequest request;
  request.set_sql("SELECT count(*) FROM pair_matrix");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (double count = 0; std::chrono::steady_clock::now() < deadline;) {
    grpc::ClientContext context;
    api::SqlTable table;
    const grpc::Status status = archive.RunSql(&context, request, &table);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) return -1;
    count = table.rows(0).values(0).number();
    if (count > 0) return static_cast<std::int64_t>(count);
  }
  return 0;
}

// The agents report 1,500 ns: all tasks fail, and yet each pair's figure is in the matrix.
TEST(PairMatrices, AreStoredWhenARunHasEndedAlsoOfWhatIsBeyondALimit) {
  ServerBench bench;
  bench.write("both.yaml",
              "version: 1\nmetadata: {name: both}\nstages:\n  - kernel: fake.lat\n    placement: "
              "{pairs: all, directions: both}\n    limits: [{metric: latency_ns, ceiling: 1us}]\n");
  bench.start();
  ScriptedAgent a(bench.agent("a"));
  ScriptedAgent b(bench.agent("b"));
  ASSERT_TRUE(welcome(a) && welcome(b));
  api::RunRequest start;
  start.mutable_suite()->set_name("both");
  api::RunSummary run;
  grpc::ClientContext context;
  const grpc::Status status = bench.stub_->StartRun(&context, start, &run);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const auto archive = api::Archive::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  ASSERT_EQ(stored_matrices(*archive), 1);
  api::PairsRequest request;
  request.set_run_id(run.run_id());
  api::PairMatrix matrix;
  grpc::ClientContext matrix_context;
  ASSERT_TRUE(archive->GetMatrix(&matrix_context, request, &matrix).ok());
  EXPECT_THAT(matrix.values(), ElementsAre(0, 1500, 1500, 0));
  EXPECT_TRUE(matrix.synthetic());
}

// Three nodes are three rounds, of which each run has one.
TEST(PairMatrices, OfTheSlicesOfASuiteAreOneMatrixWithTheRunOfEachFigure) {
  ServerBench bench;
  bench.write("both.yaml",
              "version: 1\nmetadata: {name: both}\nstages:\n  - kernel: fake.lat\n    placement: "
              "{pairs: all, directions: both}\n");
  bench.start();
  ScriptedAgent a(bench.agent("a"));
  ScriptedAgent b(bench.agent("b"));
  ScriptedAgent c(bench.agent("c"));
  ASSERT_TRUE(welcome(a) && welcome(b) && welcome(c));
  api::PairsRequest request;
  for (const char* slice : {"both:1/3", "both:2/3", "both:3/3"}) {
    api::RunRequest start;
    start.mutable_suite()->set_name(slice);
    api::RunSummary run;
    grpc::ClientContext context;
    const grpc::Status status = bench.stub_->StartRun(&context, start, &run);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(bench.end_of(run.run_id()).run().outcome(), "passed");
    request.set_run_id(run.run_id());
  }
  const auto archive = api::Archive::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  const auto measured = [&](std::uint32_t runs) {
    request.set_runs(runs);
    grpc::ClientContext context;
    api::PairMatrix matrix;
    const grpc::Status status = archive->GetMatrix(&context, request, &matrix);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::map<std::uint32_t, int> by_run;
    for (int cell = 0; cell < matrix.run_of_size(); ++cell)
      if (matrix.values(cell) > 0) ++by_run[matrix.run_of(cell)];
    return by_run;
  };
  EXPECT_THAT(measured(7), ElementsAre(Pair(0, 2), Pair(1, 2), Pair(2, 2)));
  EXPECT_THAT(measured(2), ElementsAre(Pair(0, 2), Pair(1, 2)));
  request.set_runs(1'000);
  grpc::ClientContext context;
  api::PairMatrix matrix;
  EXPECT_EQ(archive->GetMatrix(&context, request, &matrix).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace railgauge

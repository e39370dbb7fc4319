#include "controller/history/gpu_pairs.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/history/archive.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

// A GPU of a host, and the share of its rate that a fault takes when it executes copies.
struct SlowGpu {
  int host = -1;
  int gpu = -1;
  double takes = 0;
};

store::ResultRow copy_row(int host, int from, int to, const std::string& direction, double rate) {
  store::ResultRow row{.run_id = "r1",
                       .kernel = "cuda.peer_copy_bw",
                       .endpoints = {fmt::format("n{}/-", host)},
                       .outcome = "passed",
                       .parameters = {{"engine", "ce"}, {"direction", direction}}};
  row.point.set_metric("bandwidth_bytes_per_second");
  row.point.set_meaning("unidirectional");
  row.point.set_unit("bytes_per_second");
  row.point.set_larger_is_better(true);
  row.point.set_message_bytes(1 << 30);
  row.point.set_median(rate);
  row.point.set_pair(fmt::format("gpu{}>gpu{}", from, to));
  return row;
}

// All pairs of GPUs of some hosts by both directions, with noise of 0.2 %.
std::vector<store::ResultRow> copies(int hosts, int gpus, SlowGpu slow, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.002);
  std::vector<store::ResultRow> rows;
  for (int host = 1; host <= hosts; ++host)
    for (int from = 0; from < gpus; ++from)
      for (int to = 0; to < gpus; ++to)
        for (const std::string direction : {"read", "write"}) {
          if (from == to) continue;
          const int executes = direction == "read" ? to : from;
          const bool is_slow = host == slow.host && executes == slow.gpu;
          rows.push_back(copy_row(host, from, to, direction,
                                  780e9 * noise(random) * (is_slow ? 1 - slow.takes : 1)));
        }
  return rows;
}

localise::Localisation suspects_among(const std::vector<store::ResultRow>& rows) {
  const auto figures = figures_of_gpus("r1", rows);
  EXPECT_TRUE(figures) << figures.error().message;
  auto found = localise::find_suspects(figures->data);
  EXPECT_TRUE(found) << found.error().message;
  return *found;
}

TEST(GpuPairs, AreEndsOfAHostWithALayerForEachWayOfCopying) {
  auto rows = copies(2, 2, {});
  rows.push_back(copy_row(1, 0, 1, "read", 1));
  rows.back().outcome = "failed";
  rows.push_back(copy_row(1, 0, 1, "read", 1));
  rows.back().point.clear_pair();
  const auto figures = figures_of_gpus("r1", rows);
  ASSERT_TRUE(figures) << figures.error().message;
  const localise::PairData& data = figures->data;
  EXPECT_EQ(data.ends, localise::Ends::kGpus);
  EXPECT_THAT(data.nodes, UnorderedElementsAre("n1 gpu0", "n1 gpu1", "n2 gpu0", "n2 gpu1"));
  EXPECT_THAT(data.leaves, UnorderedElementsAre("n1", "n2"));
  ASSERT_EQ(data.layers.size(), 2U);
  for (const localise::Layer& layer : data.layers) {
    EXPECT_THAT(layer.memory, testing::AnyOf("ce read", "ce write"));
    EXPECT_GT(layer.values[1], 7e11) << "failed rows and rows without a pair are left out";
  }
}

TEST(GpuPairs, OfARunWithoutThemAreNotFound) {
  const auto none = figures_of_gpus("r1", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNotFound);
}

// The GPU that executes 5 % slower is named among the eight of its host, for every place and seed.
TEST(GpuPairs, NameTheSlowGpuAmongEight) {
  for (int gpu = 0; gpu < 8; ++gpu)
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const auto found = suspects_among(copies(1, 8, {.host = 1, .gpu = gpu, .takes = 0.05}, seed));
      ASSERT_FALSE(found.suspects.empty()) << gpu << " by seed " << seed;
      for (const localise::Suspect& suspect : found.suspects) {
        EXPECT_TRUE(suspect.confirmed);
        EXPECT_THAT(suspect.sentence, HasSubstr(fmt::format("n1 gpu{} ", gpu)));
        EXPECT_THAT(suspect.sentence, Not(HasSubstr("rail")));
        EXPECT_NEAR(suspect.drop, 0.05, 0.01);
      }
    }
}

TEST(GpuPairs, NameNoneWhereNoneIsSlow) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const auto found = suspects_among(copies(1, 8, {}, seed));
    for (const localise::Suspect& suspect : found.suspects)
      EXPECT_FALSE(suspect.confirmed) << suspect.sentence << " by seed " << seed;
  }
}

TEST(GpuPairs, NameTheSlowGpuAmongManyHosts) {
  const auto found = suspects_among(copies(16, 8, {.host = 7, .gpu = 3, .takes = 0.05}));
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_THAT(found.suspects.front().sentence, HasSubstr("n7 gpu3 "));
  EXPECT_TRUE(found.suspects.front().confirmed);
}

// The whole way: a run's points in the store, and the answer for `runs suspects`.
TEST(GpuPairs, OfAStoredRunAreItsSuspects) {
  store::TempFolder folder;
  const auto store = store::open_store(folder.file("db"));
  ASSERT_TRUE(store->put_node(store::node_row(1)));
  const store::TaskRow task{.task_id = "t0001",
                            .kernel = "cuda.peer_copy_bw",
                            .identity_parameters = {"engine", "direction"},
                            .ranks = {{.node_id = "id-1", .node = "n1", .endpoint = "-"}},
                            .deadline_seconds = 30};
  ASSERT_TRUE(store->create_run(store::run_row("r1"), {task}));
  std::vector<Record> records{store::record_at({}, 0)};
  Started& started = *records.back().mutable_started();
  started.set_kernel("cuda.peer_copy_bw");
  started.set_revision(3);
  started.set_size(1);
  (*started.mutable_parameters())["engine"] = "ce";
  (*started.mutable_parameters())["direction"] = "write";
  for (const store::ResultRow& row : copies(1, 4, {.host = 1, .gpu = 2, .takes = 0.05})) {
    if (row.parameters.at("direction") != "write") continue;
    const auto sequence = static_cast<std::uint32_t>(records.size());
    records.push_back(store::record_at({}, sequence));
    *records.back().mutable_point() = row.point;
  }
  records.push_back(store::final_record({}, static_cast<std::uint32_t>(records.size()), "passed"));
  ASSERT_TRUE(store::append(*store, "id-1", records));
  Archive archive(*store);
  api::PairsRequest request;
  request.set_run_id("r1");
  const auto list = archive.get_suspects(request);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_TRUE(list->between_gpus());
  EXPECT_EQ(list->measured_pairs(), 12);
  ASSERT_EQ(list->suspects_size(), 1);
  EXPECT_EQ(list->suspects(0).name(), "n1 gpu2");
  EXPECT_EQ(list->suspects(0).kind(), "gpu");
  EXPECT_EQ(list->suspects(0).direction(), "sends");
  EXPECT_EQ(list->suspects(0).wanted_size(), 0);
  const auto matrix = archive.get_matrix(request);
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_TRUE(matrix->between_gpus());
  EXPECT_EQ(matrix->nodes_size(), 4);
}

}  // namespace
}  // namespace railgauge

// A task as the model reads it: memory, places, sizes, and the harm that a scenario does to it.
#include "agent/fleet/model/modelled_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Scenario with(const std::string& lines) {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: 8, leaves: 2, rails: 4}\n" + lines,
      "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

ModelledTask pair(const char* kernel, std::map<std::string, std::string> parameters = {}) {
  return {.kernel = kernel,
          .parameters = std::move(parameters),
          .ranks = {{.node = 0, .nic = 1}, {.node = 1, .nic = 1}}};
}

std::vector<std::int32_t> gpus(const ModelledTask& task) {
  std::vector<std::int32_t> out;
  const auto prepared = prepare(with(""), task);
  EXPECT_TRUE(prepared);
  if (prepared)
    for (const Place& place : prepared->places) out.push_back(place.gpu);
  return out;
}

// GPUs 2 and 3 of 8 are those of NIC 1 of 4.
TEST(ModelledTask, MemoryIsThatOfEachRanksParameter) {
  EXPECT_THAT(gpus(pair("verbs.write_bw")), ElementsAre(-1, -1));
  EXPECT_THAT(gpus(pair("verbs.write_bw", {{"memory", "cuda"}})), ElementsAre(2, 2));
  EXPECT_THAT(gpus(pair("verbs.write_bw", {{"memory", "cuda"}, {"target_memory", "same"}})),
              ElementsAre(2, 2));
  EXPECT_THAT(gpus(pair("verbs.write_bw", {{"memory", "cuda"}, {"target_memory", "host"}})),
              ElementsAre(2, -1));
  EXPECT_THAT(gpus(pair("verbs.write_bw", {{"memory", "host"}, {"target_memory", "cuda"}})),
              ElementsAre(-1, 2));
  EXPECT_THAT(gpus(pair("verbs.write_visible_lat")), ElementsAre(-1, 2));
  EXPECT_THAT(gpus(pair("mpi.lat", {{"memory", "cuda"}, {"peer_memory", "host"}})),
              ElementsAre(2, -1));
  ModelledTask chosen = pair("verbs.write_bw", {{"memory", "cuda"}});
  chosen.ranks[0].gpu = 7;
  EXPECT_THAT(gpus(chosen), ElementsAre(7, 2));
}

TEST(ModelledTask, ATaskOnAllGpusOfANodeHasAPlaceOnEach) {
  const auto all = gpus({.kernel = "cuda.peer_copy_bw", .ranks = {{.node = 0}}});
  EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(ModelledTask, SizesAreThoseAskedForOrTheKernelsOwn) {
  const auto sizes = [](const ModelledTask& task) {
    return prepare(with(""), task)->options.sizes;
  };
  EXPECT_THAT(sizes(pair("verbs.write_bw", {{"sizes", "8,64KiB"}})), ElementsAre(8, 65'536));
  EXPECT_THAT(sizes(pair("verbs.write_bw")), ElementsAre(65'536));
  EXPECT_THAT(sizes(pair("verbs.atomic_lat")), ElementsAre(0));
}

TEST(ModelledTask, APairNeedsTwoRanks) {
  ModelledTask task = pair("verbs.write_lat");
  task.ranks.pop_back();
  EXPECT_THAT(prepare(with(""), task).error().message, HasSubstr("needs two ranks, has 1"));
  task.ranks.clear();
  EXPECT_FALSE(prepare(with(""), task));
}

TEST(ModelledTask, TheWorstStallCountsAndDelaysAddUp) {
  const Scenario scenario = with(
      "faults:\n  - {kind: node, node: sim0001, adds: 1us, stall: 1ms, stall_every: 1s}\n"
      "  - {kind: leaf, leaf: 0, adds: 2us, loss: 0.1, stall: 50ms, stall_every: 1s}\n"
      "  - {kind: node, node: sim0002, stall: 200ms, stall_every: 10s}\n");
  const ModelledTask task = pair("verbs.write_bw");
  const TaskHarm harm = harm_to(scenario, task, *prepare(scenario, task));
  EXPECT_DOUBLE_EQ(harm.adds_ns, 3'000);
  EXPECT_EQ(harm.stall_ns, 50e6);
  EXPECT_EQ(harm.loss, 0.1);
  EXPECT_TRUE(harm.is_lossy);
  EXPECT_EQ(harm.left, 1);
}

// One way of a round trip takes twice the time: half of the bytes at half the rate.
TEST(ModelledTask, OneSlowDirectionIsHalfOfARoundTripAndOfASum) {
  const Scenario scenario =
      with("faults:\n  - {kind: node, node: sim0001, direction: sends, takes: 0.5}\n");
  const auto left = [&](const ModelledTask& task) {
    return harm_to(scenario, task, *prepare(scenario, task)).left;
  };
  EXPECT_DOUBLE_EQ(left(pair("verbs.write_bw")), 0.5);
  EXPECT_DOUBLE_EQ(left(pair("verbs.read_bw")), 1);
  EXPECT_DOUBLE_EQ(left(pair("verbs.write_bw", {{"direction", "both"}})), 0.75);
  EXPECT_DOUBLE_EQ(left(pair("verbs.write_lat")), 1 / 1.5);
}

}  // namespace
}  // namespace railgauge::fleet

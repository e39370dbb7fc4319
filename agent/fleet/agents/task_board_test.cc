// Tasks of several modelled ranks: run once, for all of them. Synthetic.
#include "agent/fleet/agents/task_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

ModelledFabric fabric() {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: 4, leaves: 2}\n"
      "noise: [{kind: gaussian, size: 0.1}]\n",
      "t.yaml");
  RG_CHECK(read.has_value());
  return ModelledFabric(*std::move(read));
}

api::PrepareTask rank(std::uint32_t number, const char* sizes = "64KiB") {
  api::PrepareTask prepare;
  prepare.mutable_task()->set_run_id("r");
  prepare.mutable_task()->set_task_id("t");
  prepare.mutable_task()->set_attempt(1);
  prepare.mutable_task()->set_rank(number);
  prepare.set_kernel("verbs.write_bw");
  prepare.set_size(2);
  (*prepare.mutable_parameters())["sizes"] = sizes;
  return prepare;
}

TEST(TaskBoard, ATaskRunsAtItsFirstRanksStart) {
  const ModelledFabric modelled = fabric();
  TaskBoard board(modelled);
  board.prepare(rank(1, "8"), {.node = 3, .nic = 2});
  board.prepare(rank(0), {.node = 1, .nic = 2});
  const auto first = board.run(rank(1).task(), 1'000);
  const auto second = board.run(rank(0).task(), 2'000);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->task.time_ns, 1'000);
  ASSERT_EQ(first->task.ranks.size(), 2U);
  EXPECT_EQ(first->task.ranks[0].node, 1U);
  EXPECT_EQ(first->task.ranks[1].node, 3U);
  // Rank 0's parameters count.
  EXPECT_EQ(first->result.points.at(0).message_bytes(), 65'536);
}

// The time of the only task of a run, from the calendar's last jump.
Nanoseconds time_in_calendar(TaskBoard& board, const std::string& run, Nanoseconds asked_at) {
  api::PrepareTask prepare = rank(0);
  prepare.mutable_task()->set_run_id(run);
  board.prepare(prepare, {.node = 0});
  const Nanoseconds time = board.run(prepare.task(), asked_at)->task.time_ns;
  board.end(prepare.task());
  return time;
}

TEST(TaskBoard, UnderASimulatedClockFiguresDependOnTheJumpAndTheRunsOrderAlone) {
  constexpr Nanoseconds kDay = 86'400'000'000'000;
  const ModelledFabric modelled = fabric();
  TaskBoard board(modelled);
  TaskBoard again(modelled);
  board.set_calendar(kDay);
  again.set_calendar(kDay);
  const Nanoseconds first = time_in_calendar(board, "a", kDay + 5);
  EXPECT_GE(first, kDay);
  EXPECT_EQ(time_in_calendar(again, "other id", kDay + 999), first);
  const Nanoseconds second = time_in_calendar(board, "b", kDay + 5);
  EXPECT_GT(second, first) << "the next run measures anew";
  EXPECT_EQ(time_in_calendar(again, "c", kDay), second);
  board.set_calendar(2 * kDay);
  EXPECT_EQ(time_in_calendar(board, "d", 0), first + kDay);
}

TEST(TaskBoard, ForgetsATaskWithItsLastRank) {
  const ModelledFabric modelled = fabric();
  TaskBoard board(modelled);
  board.prepare(rank(0), {.node = 0});
  board.prepare(rank(1), {.node = 1});
  const auto done = board.run(rank(0).task(), 0);
  board.end(rank(0).task());
  EXPECT_EQ(board.size(), 1U);
  board.end(rank(1).task());
  EXPECT_EQ(board.size(), 0U);
  EXPECT_EQ(done->result.outcome, "passed");
}

TEST(TaskBoard, AttemptsAreTasksOfTheirOwn) {
  const ModelledFabric modelled = fabric();
  TaskBoard board(modelled);
  api::PrepareTask again = rank(0);
  again.mutable_task()->set_attempt(2);
  board.prepare(rank(0), {.node = 0});
  board.prepare(again, {.node = 0});
  EXPECT_EQ(board.size(), 2U);
}

}  // namespace
}  // namespace railgauge::fleet

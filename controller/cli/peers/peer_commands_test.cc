#include "controller/cli/peers/peer_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using railgauge::api::RankDetail;
using railgauge::api::RunDetail;
using railgauge::api::TaskDetail;
using testing::ElementsAre;
using testing::HasSubstr;

TaskDetail task_of(const std::string& kernel, const std::string& endpoint,
                   const std::map<std::string, std::string>& parameters) {
  TaskDetail task;
  task.set_task_id("t0001");
  task.set_kernel(kernel);
  task.add_endpoints(endpoint);
  task.mutable_parameters()->insert(parameters.begin(), parameters.end());
  return task;
}

TaskDetail pair_task(const std::string& kernel,
                     const std::map<std::string, std::string>& parameters) {
  TaskDetail task = task_of(kernel, "n1/mlx5_0:1", parameters);
  task.add_endpoints("n2/mlx5_3:1");
  for (const std::uint32_t number : {0U, 1U}) {
    RankDetail& rank = *task.add_ranks();
    rank.set_rank(number);
    rank.set_node(number == 0 ? "n1" : "n2");
    auto& facts = *rank.mutable_facts();
    facts["device"] = number == 0 ? "mlx5_0" : "mlx5_3";
    facts["port"] = "1";
    facts["gid_index"] = number == 0 ? "3" : "5";
    facts["gid"] = number == 0 ? "::ffff:10.0.0.1" : "::ffff:10.0.0.2";
    facts["mtu_bytes"] = "4096";
    facts["inline_bytes"] = "0";
  }
  return task;
}

std::vector<std::string> lines(const std::string& tool, const TaskDetail& task) {
  RunDetail detail;
  *detail.add_tasks() = task;
  const auto commands = peer_commands(detail, tool);
  EXPECT_TRUE(commands);
  std::vector<std::string> out;
  for (const PeerCommand& command : commands->commands())
    out.push_back(command.node() + ": " + command.command() + command.reason());
  return out;
}

TEST(PeerCommands, PerftestsTwoSidesTakeWhatTheTaskTook) {
  EXPECT_THAT(
      lines("perftest", pair_task("verbs.write_bw", {{"sizes", "64KiB"},
                                                     {"iterations", "1000"},
                                                     {"depth", "128"},
                                                     {"signal_every", "32"},
                                                     {"relaxed_ordering", "false"}})),
      ElementsAre("n2: ib_write_bw -d mlx5_3 -i 1 -x 5 -m 4096 -s 65536 -n 1000 -t 128 -Q 32 "
                  "--disable_pcie_relaxed -I 0 -F",
                  "n1: ib_write_bw -d mlx5_0 -i 1 -x 3 -m 4096 -s 65536 -n 1000 -t 128 -Q 32 "
                  "--disable_pcie_relaxed -I 0 -F 10.0.0.2"));
}

TEST(PeerCommands, PerftestMeasuresOneSizeInARun) {
  const auto all = lines("perftest", pair_task("verbs.write_lat", {{"sizes", "8,4KiB"}}));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_THAT(all[1], HasSubstr("ib_write_lat -d mlx5_0 -i 1 -x 3 -m 4096 -s 8 -I 0 -F 10.0.0.2"));
  EXPECT_THAT(all[3], HasSubstr("-s 4096"));
}

TEST(PeerCommands, ATaskThatNeverBeganHasItsPlannedPlaces) {
  TaskDetail task = pair_task("verbs.write_lat", {{"sizes", "8"}});
  task.clear_ranks();
  EXPECT_THAT(lines("perftest", task), ElementsAre("n2: ib_write_lat -d mlx5_3 -i 1 -s 8 -F",
                                                   "n1: ib_write_lat -d mlx5_0 -i 1 -s 8 -F n2"));
}

TEST(PeerCommands, OthersComeFromTheTableOfPeerTools) {
  EXPECT_THAT(lines("nvbandwidth", task_of("cuda.host_copy_bw", "n1/gpu1", {{"sizes", "512MiB"}})),
              ElementsAre("n1: nvbandwidth -t host_to_device_memcpy_ce -b 512"));
  EXPECT_THAT(lines("gdrcopy", task_of("bar.write_bw", "n1/gpu1",
                                       {{"sizes", "128KiB"}, {"iterations", "10"}})),
              ElementsAre("n1: gdrcopy_copybw -d 1 -s 131072 -c 131072 -w 10"));
}

TEST(PeerCommands, NvbandwidthMeasuresOneSizeInARun) {
  EXPECT_THAT(
      lines("nvbandwidth", task_of("cuda.host_copy_bw", "n1/gpu1", {{"sizes", "1MiB,64MiB"}})),
      ElementsAre("n1: nvbandwidth -t host_to_device_memcpy_ce -b 1",
                  "n1: nvbandwidth -t host_to_device_memcpy_ce -b 64"));
}

TEST(PeerCommands, GdrcopyRepeatsNothingThatWentAnotherWay) {
  TaskDetail task = task_of("bar.write_bw", "n1/gpu1", {{"backend", "auto"}});
  (*task.add_ranks()->mutable_facts())["path"] = "vulkan";
  EXPECT_THAT(lines("gdrcopy", task), ElementsAre(HasSubstr("it maps through gdrdrv, not through "
                                                            "vulkan")));
  (*task.mutable_ranks(0)->mutable_facts())["path"] = "gdrdrv";
  EXPECT_THAT(lines("gdrcopy", task), ElementsAre(HasSubstr("n1: gdrcopy_copybw -d 1")));
}

TEST(PeerCommands, OneLineSaysWhyThereIsNone) {
  EXPECT_THAT(lines("perftest", task_of("cuda.host_copy_bw", "n1/gpu0", {})),
              ElementsAre(": perftest: cuda.host_copy_bw: it has no test of this kind"));
  EXPECT_THAT(lines("nvbandwidth", pair_task("verbs.write_lat", {})),
              ElementsAre(": nvbandwidth: verbs.write_lat: it has no test of this kind"));
  EXPECT_THAT(lines("perftest", pair_task("verbs.write_bw", {{"added_cost_fraction", "0.2"}})),
              ElementsAre(HasSubstr("no way to add cost")));
}

TEST(PeerCommands, AnUnknownToolIsRefused) {
  const auto refused = peer_commands({}, "perftset");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean \"perftest\"?"));
}

TEST(PeerCommands, WhatANodeSaidCannotSteerAShell) {
  EXPECT_EQ(shell_quoted("mlx5_0"), "mlx5_0");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("$(x)'"), "'$(x)'\\'''");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace railgauge::cli

// The input of the round engine: the load of a task between leaves.
#include <string>

#include <gtest/gtest.h>

#include "controller/control/run_tasks.h"

namespace railgauge::run {
namespace {

constexpr double kGigabit = 1e9;

void add_nic(api::Hello& hello, const std::string& device, double rate,
             const std::string& state = "active") {
  api::Nic& nic = *hello.add_nics();
  nic.set_device(device);
  nic.set_port(1);
  nic.set_state(state);
  nic.set_rate_bits_per_second(rate);
}

// a and b on leaf l1, c on leaf l2: each with two NICs of 100 Gb/s in use, and one that is down.
std::map<std::string, fleet::NodeState> nodes() {
  std::map<std::string, fleet::NodeState> nodes;
  for (const char* name : {"a", "b", "c"}) {
    api::Hello hello;
    add_nic(hello, "mlx5_0", 100 * kGigabit);
    add_nic(hello, "mlx5_1", 100 * kGigabit);
    add_nic(hello, "mlx5_2", 400 * kGigabit, "down");
    nodes[name].hello = std::make_shared<const api::Hello>(hello);
  }
  return nodes;
}

plan::PlannedRank rank(const std::string& node, const std::string& endpoint) {
  return {.node = node, .endpoint = endpoint, .leaf = node == "c" ? "l2" : "l1"};
}

double load_of(std::vector<plan::PlannedRank> ranks) {
  plan::PlannedTask task;
  task.ranks = std::move(ranks);
  task.loads_fabric = true;
  return run_tasks_of({&task, 1}, nodes()).at(0).load_bits_per_second;
}

TEST(RunTasks, APairOfNicPortsLoadsWhatOneSends) {
  EXPECT_EQ(load_of({rank("a", "mlx5_0:1"), rank("c", "mlx5_1:1")}), 100 * kGigabit);
}

TEST(RunTasks, RanksThatNameNoNicLoadAllThatTheirNodesHaveOnce) {
  EXPECT_EQ(load_of({rank("a", "gpu0"), rank("a", "gpu1"), rank("c", "gpu0"), rank("c", "gpu1")}),
            400 * kGigabit);
  EXPECT_EQ(load_of({rank("a", ""), rank("b", ""), rank("c", "")}), 600 * kGigabit);
  EXPECT_EQ(load_of({rank("a", ""), rank("c", "")}), 200 * kGigabit) << "a pair";
}

TEST(RunTasks, WithinANodeTheyLoadNothing) {
  EXPECT_EQ(load_of({rank("a", "gpu0"), rank("a", "gpu1")}), 0);
}

}  // namespace
}  // namespace railgauge::run

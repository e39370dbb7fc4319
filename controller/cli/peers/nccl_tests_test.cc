#include "controller/cli/peers/nccl_tests.h"

#include <gmock/gmock.h>

#include "controller/cli/peers/peer_commands.h"

namespace railgauge::cli {
namespace {

using railgauge::api::RunDetail;
using railgauge::api::TaskDetail;
using testing::ElementsAre;
using testing::HasSubstr;
using Parameters = std::map<std::string, std::string>;

// As planned, defaults included.
TaskDetail task_of(const std::string& kernel, const std::vector<std::string>& endpoints,
                   const Parameters& given) {
  TaskDetail task;
  task.set_task_id("t0001");
  task.set_kernel(kernel);
  for (const std::string& endpoint : endpoints) task.add_endpoints(endpoint);
  Parameters all = given;
  all.insert({{"sizes", "8"}, {"datatype", "float32"}, {"iterations", "0"}, {"verify", "true"}});
  all.insert({{"mode", "events"}, {"registered", "false"}, {"environment", "site"}});
  all.insert({{"ib_disable", "site"}, {"ib_hca", ""}, {"ib_tc", "-1"}, {"min_nchannels", "0"}});
  task.mutable_parameters()->insert(all.begin(), all.end());
  return task;
}

std::vector<std::string> lines(const TaskDetail& task) {
  RunDetail detail;
  *detail.add_tasks() = task;
  const auto commands = peer_commands(detail, "nccl-tests");
  EXPECT_TRUE(commands);
  std::vector<std::string> out;
  for (const PeerCommand& command : commands->commands())
    out.push_back(command.node() + ": " + command.command() + command.reason());
  return out;
}

TEST(NcclTestsLines, RanksOfOneNodeAreOneProcessWithSeveralGpus) {
  EXPECT_THAT(lines(task_of("nccl.all_reduce", {"n1/gpu0", "n1/gpu1"},
                            {{"sizes", "8,16,32"}, {"reduction", "max"}, {"iterations", "50"}})),
              ElementsAre("n1: all_reduce_perf -b 8 -e 32 -f 2 -d float -o max -n 50 -g 2"));
}

TEST(NcclTestsLines, NodesAreStartedByMpirunWithTheDeclaredEnvironment) {
  EXPECT_THAT(lines(task_of("nccl.all_gather", {"n1/gpu0", "n1/gpu1", "n2/gpu0", "n2/gpu1"},
                            {{"sizes", "1MiB"},
                             {"datatype", "float16"},
                             {"ib_disable", "true"},
                             {"ib_hca", "=mlx5_0,mlx5_1"},
                             {"ib_tc", "106"}})),
              ElementsAre("n1: mpirun -np 4 --host n1:2,n2:2 -x NCCL_IB_DISABLE=1 -x "
                          "NCCL_IB_HCA==mlx5_0,mlx5_1 -x NCCL_IB_TC=106 all_gather_perf -b 1048576 "
                          "-e 1048576 -d half -g 1"));
}

TEST(NcclTestsLines, WaysOfCallingAreOptionsAndVariables) {
  EXPECT_THAT(lines(task_of("nccl.all_to_all_v", {"n1/gpu0", "n1/gpu1"},
                            {{"registered", "symmetric"},
                             {"aggregate", "4"},
                             {"cta_policy", "zero"},
                             {"split", "mod 2"},
                             {"spread", "0.5"}})),
              ElementsAre("n1: NCCL_TESTS_SPLIT='mod 2' NCCL_TESTS_ALLTOALLV_SPREAD=0.5 "
                          "alltoallv_perf -b 8 -e 8 -d float -R 2 -m 4 -x 2 -g 2"));
  EXPECT_THAT(lines(task_of("nccl.all_to_all_v", {"n1/gpu0"}, {{"traffic", "1"}})),
              ElementsAre(::testing::HasSubstr("from a file")));
}

TEST(NcclTestsLines, OtherGpusThanTheFirstAreShownToCuda) {
  EXPECT_THAT(
      lines(
          task_of("nccl.broadcast", {"n1/gpu2", "n1/gpu3"}, {{"root", "1"}, {"verify", "false"}})),
      ElementsAre("n1: CUDA_VISIBLE_DEVICES=2,3 broadcast_perf -b 8 -e 8 -d float -r 1 -c 0 -g 2"));
  EXPECT_THAT(lines(task_of("nccl.broadcast", {"n1/gpu2", "n2/gpu3"}, {{"root", "0"}})),
              ElementsAre(HasSubstr("the task had different ones")));
}

TEST(NcclTestsLines, SizesThatAreNoProgressionAreALineEach) {
  EXPECT_THAT(lines(task_of("nccl.send_recv", {"n1/gpu0"}, {{"sizes", "8,1MiB,2MiB"}})),
              ElementsAre("n1: sendrecv_perf -b 8 -e 8 -d float -g 1",
                          "n1: sendrecv_perf -b 1048576 -e 1048576 -d float -g 1",
                          "n1: sendrecv_perf -b 2097152 -e 2097152 -d float -g 1"));
  EXPECT_THAT(lines(task_of("nccl.send_recv", {"n1/gpu0"}, {{"sizes", "1KiB,2KiB,3KiB"}})),
              ElementsAre("n1: sendrecv_perf -b 1024 -e 3072 -i 1024 -d float -g 1"));
}

TEST(NcclTestsLines, GraphsAndRegisteredBuffersHaveTheirOptions) {
  EXPECT_THAT(lines(task_of("nccl.reduce", {"n1/gpu0"},
                            {{"mode", "graph"}, {"graph_calls", "20"}, {"registered", "true"}})),
              ElementsAre("n1: reduce_perf -b 8 -e 8 -d float -n 20 -G 20 -R 1 -g 1"));
}

TEST(NcclTestsLines, ACleanEnvironmentIsCleanThereToo) {
  EXPECT_THAT(lines(task_of("nccl.reduce", {"n1/gpu0"}, {{"environment", "clean"}})),
              ElementsAre(HasSubstr("n1: env -i HOME=")));
  EXPECT_THAT(lines(task_of("nccl.reduce", {"n1/gpu0", "n2/gpu0"}, {{"environment", "clean"}})),
              ElementsAre(HasSubstr("cannot hide the other nodes' NCCL_ variables")));
}

TEST(NcclTestsLines, OneLineSaysWhyThereIsNone) {
  EXPECT_THAT(lines(task_of("nccl.pairwise", {"n1/gpu0"}, {})),
              ElementsAre(": nccl-tests: nccl.pairwise: it has no test of this kind"));
  EXPECT_THAT(lines(task_of("verbs.write_bw", {"n1/mlx5_0:1"}, {})),
              ElementsAre(HasSubstr("no test of this kind")));
}

}  // namespace
}  // namespace railgauge::cli

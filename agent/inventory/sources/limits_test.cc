// Limits of both generations of control groups. The trees are synthetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/inventory/sources/sources.h"
#include "agent/testing/node_tree.h"

namespace railgauge::agent {
namespace {

MemoryLimits limits_of(const std::string& text) {
  NodeTree tree;
  tree.apply(text);
  Inventory node;
  read_limits(NodeFiles({.root = tree.root()}))(node);
  return node.limits;
}

TEST(Limits, TheTightestOfTheGroupAndThoseAboveItCounts) {
  const MemoryLimits limits = limits_of(
      "proc/self/cgroup = 0::/kube.slice/pod.slice/one\n"
      "sys/fs/cgroup/kube.slice/pod.slice/one/memory.max = max\n"
      "sys/fs/cgroup/kube.slice/pod.slice/memory.max = 4096\n"
      "sys/fs/cgroup/kube.slice/pod.slice/memory.current = 96\n"
      "sys/fs/cgroup/kube.slice/memory.max = 8192\n"
      "sys/fs/cgroup/kube.slice/cpuset.cpus.effective = 0-3\n");
  EXPECT_TRUE(limits.cgroup_memory_max_bytes.is(4096));
  EXPECT_TRUE(limits.cgroup_memory_now_bytes.is(96));
  EXPECT_TRUE(limits.cgroup_cpus.is("0-3")) << "its own level has no such controller";
}

TEST(Limits, OfRdmaHandlesTheLevelThatLeavesLeastCounts) {
  const MemoryLimits limits = limits_of(
      "proc/self/cgroup = 0::/kube.slice/pod.slice\n"
      "sys/fs/cgroup/kube.slice/pod.slice/rdma.max |\n"
      "  mlx5_0 hca_handle=max hca_object=max\n"
      "  mlx5_1 hca_handle=9 hca_object=90\n"
      "sys/fs/cgroup/kube.slice/pod.slice/rdma.current = mlx5_1 hca_handle=8 hca_object=1\n"
      "sys/fs/cgroup/kube.slice/rdma.max |\n"
      "  mlx5_0 hca_handle=2 hca_object=max\n"
      "  mlx5_1 hca_handle=50 hca_object=max\n"
      "sys/fs/cgroup/kube.slice/rdma.current |\n"
      "  mlx5_0 hca_handle=2 hca_object=7\n"
      "  mlx5_1 hca_handle=40 hca_object=7\n");
  EXPECT_TRUE(limits.cgroup_rdma_max.at("mlx5_0").is("hca_handle=2 hca_object=max"));
  EXPECT_TRUE(limits.cgroup_rdma_now.at("mlx5_0").is("hca_handle=2 hca_object=7"));
  EXPECT_TRUE(limits.cgroup_rdma_max.at("mlx5_1").is("hca_handle=9 hca_object=90"));
  EXPECT_TRUE(limits.cgroup_rdma_now.at("mlx5_1").is("hca_handle=8 hca_object=1"));
  EXPECT_TRUE(limits.cgroup_rdma_told.is_known());
}

TEST(Limits, OfTheFirstGenerationEachControllerHasATreeOfItsOwn) {
  const char* const kTree =
      "proc/self/cgroup |\n"
      "  9:memory:/system.slice/railgauge-agent.service\n"
      "  4:cpu,cpuacct:/\n"
      "  3:cpuset:/\n"
      "  2:rdma:/\n"
      "  0::/system.slice/railgauge-agent.service\n"
      "sys/fs/cgroup/memory/memory.limit_in_bytes = 9223372036854771712\n"
      "sys/fs/cgroup/memory/system.slice/railgauge-agent.service/memory.usage_in_bytes = 100\n"
      "sys/fs/cgroup/cpuset/cpuset.effective_cpus = 2-5\n"
      "sys/fs/cgroup/rdma/rdma.current = mlx5_0 hca_handle=0 hca_object=3\n"
      "sys/fs/cgroup/rdma/rdma.max = mlx5_0 hca_handle=0 hca_object=max\n";
  const std::string own =
      "sys/fs/cgroup/memory/system.slice/railgauge-agent.service/memory.limit_in_bytes = ";
  const MemoryLimits bound = limits_of(kTree + own + "200\n");
  EXPECT_TRUE(bound.cgroup_memory_max_bytes.is(200));
  EXPECT_TRUE(bound.cgroup_memory_now_bytes.is(100));
  EXPECT_TRUE(bound.cgroup_cpus.is("2-5"));
  EXPECT_TRUE(bound.cgroup_rdma_max.at("mlx5_0").is("hca_handle=0 hca_object=max"));
  EXPECT_TRUE(bound.cgroup_rdma_now.at("mlx5_0").is("hca_handle=0 hca_object=3"));
  EXPECT_TRUE(
      limits_of(kTree + own + "9223372036854771712\n").cgroup_memory_max_bytes.is(kUnlimited));
}

TEST(Limits, AGroupThatIsNotToldIsNotCalledUnlimited) {
  const MemoryLimits hidden = limits_of("sys/fs/cgroup/cgroup.controllers = memory\n");
  EXPECT_EQ(hidden.cgroup_memory_max_bytes.state, FactState::kUnknown);
  EXPECT_EQ(hidden.cgroup_cpus.state, FactState::kUnknown);
  // A kernel without control groups; a tree without a process shows nothing about them.
  const std::string process = "proc/self/status = CapEff: 0000000000000000\n";
  EXPECT_TRUE(limits_of(process).cgroup_memory_max_bytes.is_absent());
  EXPECT_EQ(limits_of("proc/version = Linux\n").cgroup_memory_max_bytes.state, FactState::kUnknown);
  const MemoryLimits unseen = limits_of("proc/self/cgroup = 0::/a/b\n");
  EXPECT_EQ(unseen.cgroup_memory_max_bytes.state, FactState::kUnknown) << "no mount to look at";
  EXPECT_EQ(unseen.cgroup_rdma_told.state, FactState::kUnknown);
}

TEST(Limits, WordsThatAreNoLimitAreAnErrorAndNotUnlimited) {
  const MemoryLimits limits = limits_of(
      "proc/self/cgroup = 0::/\nsys/fs/cgroup/memory.max = lots\n"
      "proc/self/limits = Max locked memory         some            unlimited            bytes\n");
  EXPECT_EQ(limits.cgroup_memory_max_bytes.state, FactState::kError);
  EXPECT_EQ(limits.memlock_soft_bytes.state, FactState::kError);
}

TEST(Limits, AnyLinesAreAnswered) {
  for (const char* lines :
       {"0", "::", "0::", "0::../../etc", "9:memory", "9:memory:", ":memory:/a/../b", ",,:,,:/"}) {
    const MemoryLimits limits =
        limits_of(std::string("proc/self/cgroup = ") + lines + "\nsys/fs/cgroup/a/b = 1\n");
    EXPECT_NE(limits.cgroup_memory_max_bytes.state, FactState::kError) << lines;
  }
}

}  // namespace
}  // namespace railgauge::agent

#include "kernels/memory/numa.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

namespace railgauge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two sockets, and a third node that is only memory, next to the second socket.
class Numa : public ::testing::Test {
 protected:
  void SetUp() override {
    write("online", "0-2\n");
    write("node0/cpulist", "0-1,4\n");
    write("node0/distance", "10 21 30\n");
    write("node1/cpulist", "2-3\n");
    write("node1/distance", "21 10 12\n");
    write("node2/cpulist", "\n");
    write("node2/distance", "30 12 10\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    const auto path = root_ / "devices/system/node" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::vector<NumaNode> nodes() const { return *numa_nodes(root_.string()); }

  std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) /
      ("numa_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Numa, ReadsNodesWithTheirCpusAndDistances) {
  const auto all = nodes();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[0].cpus, ElementsAre(0, 1, 4));
  EXPECT_THAT(all[1].distances, ElementsAre(21, 10, 12));
  EXPECT_THAT(all[2].cpus, IsEmpty());
}

TEST_F(Numa, ANodeGivesWhatIsFreeAndWhatFilesOccupy) {
  write("node1/meminfo",
        "Node 1 MemTotal:       8000 kB\nNode 1 MemFree:        1000 kB\n"
        "Node 1 Active(anon):   4000 kB\nNode 1 Active(file):   200 kB\n"
        "Node 1 Inactive(file): 30 kB\n");
  EXPECT_EQ(available_on_node(1, root_.string()), 1230U * 1024);
  EXPECT_EQ(available_on_node(0, root_.string()), std::nullopt) << "it does not tell";
}

TEST_F(Numa, NearIsTheNodeItself) { EXPECT_EQ(nearest_node(nodes(), 1).value(), 1U); }

TEST_F(Numa, NearANodeWithoutCpusIsTheNearestThatHasSome) {
  EXPECT_EQ(nearest_node(nodes(), 2).value(), 1U);
}

TEST_F(Numa, FarIsTheFarthestNodeThatHasCpus) {
  EXPECT_EQ(farthest_node(nodes(), 1).value(), 0U);
  EXPECT_EQ(farthest_node(nodes(), 0).value(), 1U);
  EXPECT_EQ(farthest_node(nodes(), 2).value(), 0U);
}

TEST_F(Numa, FarNeedsASecondNode) {
  write("online", "0\n");
  write("node0/distance", "10\n");
  const auto far = farthest_node(nodes(), 0);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(far.error().message, "NUMA node 0: there is no other node with CPUs to measure from");
}

TEST_F(Numa, AKernelWithoutNumaIsOneNode) {
  const auto one = numa_nodes("/nowhere");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->size(), 1U);
}

TEST_F(Numa, NamesTheFileThatMakesNoSense) {
  write("node1/cpulist", "2-x\n");
  const auto bad = numa_nodes(root_.string());
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("node1/cpulist"));
  EXPECT_THAT(bad.error().message, HasSubstr("2-x"));
}

TEST_F(Numa, NamesTheNodeWhoseDistancesAreTooFew) {
  write("node2/distance", "30 12\n");
  const auto bad = numa_nodes(root_.string());
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("node2/distance: read: 2 figures for 3 nodes"));
}

TEST(CpuList, IsRangesAndNumbersAndNothingElse) {
  EXPECT_THAT(*parse_cpu_list("0-2,5"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
  for (const char* bad : {"a", "1-", "3-1", "-1", "1-2-3", "0-99999999", "1;2"})
    EXPECT_FALSE(parse_cpu_list(bad)) << bad;
}

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

TEST(NumaBinding, BindsThisThreadAndGivesItsCpusBack) {
  const cpu_set_t before = allowed();
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  {
    const auto binding = NumaBinding::bind({.id = 0, .cpus = {first}, .distances = {10}});
    ASSERT_TRUE(binding) << binding.error().message;
    const cpu_set_t during = allowed();
    EXPECT_EQ(CPU_COUNT(&during), 1);
    EXPECT_TRUE(CPU_ISSET(first, &during));
  }
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(NumaBinding, WaivesWhereNoneOfTheCpusIsAllowed) {
  const cpu_set_t before = allowed();
  int absent = CPU_SETSIZE - 1;
  while (CPU_ISSET(absent, &before)) --absent;
  const auto binding = NumaBinding::bind({.id = 1, .cpus = {absent}, .distances = {10}});
  ASSERT_FALSE(binding);
  EXPECT_EQ(binding.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(binding.error().message, HasSubstr("numa=any"));
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace railgauge

#include "controller/fleet/kernels.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsNull;
using testing::Pair;
using testing::SizeIs;

using Revisions = std::initializer_list<std::pair<const char*, unsigned>>;

KernelList list_of(Revisions kernels) {
  KernelList list;
  for (const auto& [kernel, revision] : kernels) {
    KernelInfo& info = *list.add_kernels();
    info.set_name(kernel);
    info.set_revision(revision);
  }
  return list;
}
KernelLists::Declared declared(const KernelList& list) {
  KernelLists::Declared bytes;
  for (const KernelInfo& kernel : list.kernels()) *bytes.Add() = kernel.SerializeAsString();
  return bytes;
}

NodeKernels node(const std::string& name, Revisions kernels) {
  return {name, std::make_shared<const KernelList>(list_of(kernels))};
}

// A kernel with one parameter and one metric.
KernelInfo kernel_of(const std::string& type, const std::string& value, bool identity = true) {
  KernelInfo kernel;
  kernel.set_name("verbs.write_lat");
  kernel.set_revision(1);
  kernel.add_metrics("latency_ns");
  ParameterInfo& parameter = *kernel.add_parameters();
  parameter.set_name("sizes");
  parameter.set_type(type);
  parameter.set_default_value(value);
  parameter.set_identity(identity);
  return kernel;
}

NodeKernels node_with(const std::string& name, const KernelInfo& kernel) {
  const auto list = std::make_shared<KernelList>();
  *list->add_kernels() = kernel;
  return {name, list};
}

std::map<std::string, std::string> left_out_of(const CommonKernels& common, std::size_t nodes) {
  return nodes_left_out(common, {"verbs.write_lat"}, nodes).value();
}

TEST(Kernels, EachIsWhatMostOfItsNodesDeclare) {
  const std::array nodes{node("n1", {{"verbs.write_lat", 1}, {"bar.write_bw", 3}}),
                         node("n2", {{"verbs.write_lat", 2}}),
                         node("n3", {{"verbs.write_lat", 2}})};
  const CommonKernels common = common_kernels(nodes);
  ASSERT_THAT(common.kernels, SizeIs(2));
  EXPECT_EQ(common.kernels[1].name(), "verbs.write_lat");
  EXPECT_EQ(common.kernels[1].revision(), 2U);
  EXPECT_THAT(left_out_of(common, 3),
              ElementsAre(Pair("n1",
                               "kernel verbs.write_lat has revision 1 there and 2 on the "
                               "others")));
}

TEST(Kernels, OneNodeOfThreeDecidesNothing) {
  const KernelInfo honest = kernel_of("bytes_list", "8");
  KernelInfo newer = honest;
  newer.set_revision(4'000'000'000);
  KernelInfo ranks = honest;
  ranks.set_min_ranks(7);
  KernelInfo without = honest;
  without.clear_parameters();
  for (const KernelInfo& hostile :
       {newer, ranks, without, kernel_of("text", "8"), kernel_of("bytes_list", "16"),
        kernel_of("bytes_list", "8", false)}) {
    // Its place among the nodes does not count.
    for (const char* name : {"n0", "n9"}) {
      std::vector nodes{node_with("n1", honest), node_with("n2", honest)};
      nodes.insert(name == std::string("n0") ? nodes.begin() : nodes.end(),
                   node_with(name, hostile));
      const CommonKernels common = common_kernels(nodes);
      EXPECT_EQ(common.kernels.at(0).SerializeAsString(), honest.SerializeAsString());
      EXPECT_THAT(left_out_of(common, 3), ElementsAre(Pair(name, testing::_)));
    }
  }
}

TEST(Kernels, AnotherParameterKeepsItsDefaultOnTheNodesThatHaveIt) {
  const KernelInfo old = kernel_of("bytes_list", "8");
  KernelInfo newer = old;
  newer.add_parameters()->set_name("added");
  // All agree with the older one, also where more nodes have the newer one.
  std::vector nodes{node_with("n1", newer), node_with("n2", newer), node_with("n3", newer),
                    node_with("n4", old), node_with("n5", old)};
  const CommonKernels common = common_kernels(nodes);
  EXPECT_THAT(common.kernels.at(0).parameters(), SizeIs(1));
  EXPECT_THAT(left_out_of(common, 5), IsEmpty());
  // At most a third of the nodes are left behind.
  nodes.pop_back();
  EXPECT_THAT(left_out_of(common_kernels(nodes), 4), ElementsAre(Pair("n4", testing::_)));
}

TEST(Kernels, MetricsOfOneNodeTakeNoPlaceOfTheOthers) {
  const KernelInfo honest = kernel_of("bytes_list", "8");
  KernelInfo junk = honest;
  junk.clear_metrics();
  for (int i = 0; i < kMostMetrics; ++i) junk.add_metrics(fmt::format("junk_{}", i));
  const std::array nodes{node_with("n0", junk), node_with("n1", honest), node_with("n2", honest)};
  const CommonKernels common = common_kernels(nodes);
  EXPECT_THAT(common.kernels.at(0).metrics(), SizeIs(kMostMetrics));
  EXPECT_EQ(common.kernels.at(0).metrics(0), "latency_ns");
}

TEST(Kernels, InTheMiddleOfARolloutNobodyIsLeftOut) {
  const NodeKernels first = node("n1", {{"verbs.write_lat", 1}});
  const std::array same{first, NodeKernels{"n2", first.kernels}};
  EXPECT_THAT(left_out_of(common_kernels(same), 2), IsEmpty());
  const std::array mixed{first, node("n2", {{"verbs.write_lat", 2}})};
  const auto left_out = nodes_left_out(common_kernels(mixed), {"verbs.write_lat"}, 2);
  ASSERT_FALSE(left_out);
  EXPECT_EQ(left_out.error().message,
            "n1: kernel verbs.write_lat has revision 1 there and 2 on the others; bring the nodes "
            "to one version");
  EXPECT_TRUE(nodes_left_out(common_kernels(mixed), {"bar.write_bw"}, 2)) << "not of this run";
}

TEST(KernelLists, EqualListsAreHeldOnce) {
  KernelLists lists;
  const KernelList list = list_of({{"verbs.write_lat", 1}, {"bar.write_bw", 3}});
  const KernelsOfNode first = lists.take(declared(list), list);
  EXPECT_EQ(lists.find(declared(list)), first);
  EXPECT_EQ(lists.take(declared(list), list), first);
  EXPECT_THAT(first->kernels(), SizeIs(2));
}

TEST(KernelLists, ListsThatDifferByARevisionAreTwo) {
  KernelLists lists;
  const KernelList one = list_of({{"verbs.write_lat", 1}});
  const KernelList two = list_of({{"verbs.write_lat", 2}});
  const KernelsOfNode first = lists.take(declared(one), one);
  EXPECT_THAT(lists.find(declared(two)), IsNull());
  EXPECT_EQ(lists.take(declared(two), two)->kernels(0).revision(), 2U);
  EXPECT_EQ(first->kernels(0).revision(), 1U);
}

// Bytes that follow each other alike, cut at another place, are another list.
TEST(KernelLists, TheBordersOfKernelsCount) {
  KernelLists lists;
  const KernelsOfNode first = lists.take(declared(list_of({{"a", 1}})), list_of({{"a", 1}}));
  KernelLists::Declared cut;
  const std::string bytes = list_of({{"a", 1}}).kernels(0).SerializeAsString();
  *cut.Add() = bytes.substr(0, 2);
  *cut.Add() = bytes.substr(2);
  EXPECT_THAT(lists.find(cut), IsNull());
}

TEST(KernelLists, AHelloWithoutItsKernelsHoldsNoMemoryOfThem) {
  api::Hello hello;
  hello.set_name("n1");
  for (int i = 0; i < 100; ++i) hello.add_kernels(std::string(4'000, 'k'));
  ASSERT_GT(hello.SpaceUsedLong(), 400'000U);
  free_kernels(hello);
  EXPECT_EQ(hello.kernels_size(), 0);
  EXPECT_EQ(hello.name(), "n1");
  EXPECT_LT(hello.SpaceUsedLong(), 2'000U);
}

TEST(KernelLists, AListGoesWithTheLastNodeThatHasIt) {
  KernelLists lists;
  const KernelList list = list_of({{"verbs.write_lat", 1}});
  lists.take(declared(list), list);
  EXPECT_THAT(lists.find(declared(list)), IsNull());
}

}  // namespace
}  // namespace railgauge::fleet

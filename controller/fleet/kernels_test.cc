#include "controller/fleet/kernels.h"

#include <array>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsNull;
using testing::SizeIs;

using Revisions = std::initializer_list<std::pair<const char*, unsigned>>;

api::Hello hello(Revisions kernels) {
  api::Hello hello;
  for (const auto& [kernel, revision] : kernels) {
    KernelInfo& info = *hello.add_kernels();
    info.set_name(kernel);
    info.set_revision(revision);
  }
  return hello;
}

NodeKernels node(const std::string& name, Revisions kernels) {
  const auto list = std::make_shared<KernelList>();
  *list->mutable_kernels() = hello(kernels).kernels();
  return {name, list};
}

TEST(Kernels, OfAllNodesAreTheNewestOfEach) {
  const std::array nodes{node("n1", {{"verbs.write_lat", 1}, {"bar.write_bw", 3}}),
                         node("n2", {{"verbs.write_lat", 2}})};
  const auto kernels = newest_kernels(nodes);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[1].name(), "verbs.write_lat");
  EXPECT_EQ(kernels[1].revision(), 2U);
}

TEST(Kernels, OfNodesThatMeasureTogetherHaveOneRevision) {
  const NodeKernels first = node("n1", {{"verbs.write_lat", 1}});
  const std::array same{first, NodeKernels{"n2", first.kernels}};
  EXPECT_TRUE(common_kernels(same));
  const std::array mixed{first, node("n2", {{"verbs.write_lat", 2}})};
  const auto kernels = common_kernels(mixed);
  ASSERT_FALSE(kernels);
  EXPECT_THAT(kernels.error().message,
              HasSubstr("verbs.write_lat has revision 1 on n1 and 2 on n2"));
}

TEST(KernelLists, EqualListsAreHeldOnceAndLeaveTheHello) {
  KernelLists lists;
  api::Hello one = hello({{"verbs.write_lat", 1}, {"bar.write_bw", 3}});
  api::Hello two = one;
  const KernelsOfNode first = lists.take(one);
  EXPECT_EQ(lists.take(two), first);
  EXPECT_THAT(first->kernels(), SizeIs(2));
  EXPECT_THAT(one.kernels(), IsEmpty());
  EXPECT_THAT(two.kernels(), IsEmpty());
}

TEST(KernelLists, ListsThatDifferByARevisionAreTwo) {
  KernelLists lists;
  api::Hello one = hello({{"verbs.write_lat", 1}});
  api::Hello two = hello({{"verbs.write_lat", 2}});
  const KernelsOfNode first = lists.take(one);
  EXPECT_THAT(lists.find(two), IsNull());
  EXPECT_THAT(two.kernels(), SizeIs(1)) << "a list that is not known stays in its Hello";
  EXPECT_EQ(lists.take(two)->kernels(0).revision(), 2U);
  EXPECT_EQ(first->kernels(0).revision(), 1U);
}

TEST(KernelLists, AListGoesWithTheLastNodeThatHasIt) {
  KernelLists lists;
  api::Hello one = hello({{"verbs.write_lat", 1}});
  api::Hello two = one;
  lists.take(one);
  EXPECT_THAT(lists.find(two), IsNull());
}

}  // namespace
}  // namespace railgauge::fleet

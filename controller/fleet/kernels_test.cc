#include "controller/fleet/kernels.h"

#include <array>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

api::Hello hello(const std::string& name,
                 std::initializer_list<std::pair<const char*, unsigned>> kernels) {
  api::Hello hello;
  hello.set_name(name);
  for (const auto& [kernel, revision] : kernels) {
    KernelInfo& info = *hello.add_kernels();
    info.set_name(kernel);
    info.set_revision(revision);
  }
  return hello;
}

TEST(Kernels, OfAllNodesAreTheNewestOfEach) {
  const api::Hello a = hello("n1", {{"verbs.write_lat", 1}, {"bar.write_bw", 3}});
  const api::Hello b = hello("n2", {{"verbs.write_lat", 2}});
  const std::array hellos{&a, &b};
  const auto kernels = newest_kernels(hellos);
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[1].name(), "verbs.write_lat");
  EXPECT_EQ(kernels[1].revision(), 2U);
}

TEST(Kernels, OfNodesThatMeasureTogetherHaveOneRevision) {
  const api::Hello a = hello("n1", {{"verbs.write_lat", 1}});
  const api::Hello b = hello("n2", {{"verbs.write_lat", 2}});
  const std::array same{&a, &a};
  EXPECT_TRUE(common_kernels(same));
  const std::array mixed{&a, &b};
  const auto kernels = common_kernels(mixed);
  ASSERT_FALSE(kernels);
  EXPECT_THAT(kernels.error().message,
              HasSubstr("verbs.write_lat has revision 1 on n1 and 2 on n2"));
}

}  // namespace
}  // namespace railgauge::fleet

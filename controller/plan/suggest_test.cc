#include "controller/plan/suggest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

const std::vector<std::string> kKeys{"kernel", "parameters", "placement", "name"};

TEST(Suggest, FindsTheWordBehindATypingError) {
  EXPECT_EQ(nearest("kernal", kKeys), "kernel");
  EXPECT_EQ(nearest("paramters", kKeys), "parameters");
  EXPECT_EQ(nearest("nmae", kKeys), "name") << "swapped neighbours are one step";
  EXPECT_EQ(did_you_mean("placment", kKeys), "; did you mean placement");
}

TEST(Suggest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("frequency", kKeys), "");
  EXPECT_EQ(nearest("", kKeys), "");
  EXPECT_EQ(nearest(std::string(1'000, 'k'), kKeys), "");
  EXPECT_EQ(did_you_mean("frequency", {}), "");
}

}  // namespace
}  // namespace railgauge::plan

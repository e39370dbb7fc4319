#include "kernels/core/text/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Variables, ThatNothingReadsAreReportedWithTheClosestOne) {
  const std::vector<std::string> names{"PATH",
                                       "RAILGAUGE_CONTROLER",
                                       "RAILGAUGE_TIMEOUT",
                                       "RAILGAUGE_NOTHING",
                                       "RAILGAUGE_CONFIG",
                                       "RAILGAUGE_LIBNCCL2"};
  EXPECT_THAT(unknown_variables(names),
              ElementsAre("variable RAILGAUGE_CONTROLER: no program of Railgauge reads it; did you "
                          "mean \"RAILGAUGE_CONTROLLER\"?",
                          "variable RAILGAUGE_NOTHING: no program of Railgauge reads it",
                          "variable RAILGAUGE_LIBNCCL2: no program of Railgauge reads it; did you "
                          "mean \"RAILGAUGE_LIBNCCL\"?"));
}

TEST(Variables, OfToolsAndTestsAreKnown) {
  const std::vector<std::string> names{"RAILGAUGE_BUILD_DIR", "RAILGAUGE_FAKE_CUDA",
                                       "RAILGAUGE_LIBCUDA", "RAILGAUGE_SLURM_NODES"};
  EXPECT_THAT(unknown_variables(names), IsEmpty());
}

TEST(Variables, NamesAreThoseOfTheProcess) { EXPECT_THAT(variable_names(), Contains("PATH")); }

}  // namespace
}  // namespace railgauge

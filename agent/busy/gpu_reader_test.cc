// Synthetic: NVML is the fake.
#include "agent/busy/gpu_reader.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {

class GpuReaderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1); }
  void SetUp() override { fake::nvml_control().reset(); }
  void TearDown() override { fake::nvml_control().reset(); }
  BusyReasons look(double now = 1) {
    const auto uses = reader_.look(own_, now);
    EXPECT_TRUE(uses) << uses.error().message;
    return uses ? judge_gpus(*uses, own_.ran_lately(now), 10) : BusyReasons{};
  }
  TempDir proc_;
  OwnProcesses own_{proc_.path(), 100};
  GpuReader reader_;
};

TEST_F(GpuReaderTest, AStrangerOnAGpuIsSeen) {
  EXPECT_TRUE(look().empty());
  fake::nvml_control().busy_pid = 4242;
  proc_.write("4242/comm", "python3\n");
  proc_.write("4242/stat", "4242 (python3) S 1 4242 4242 0 -1 0 0 0 0 0 0 0 0 0\n");
  ASSERT_EQ(look().size(), 1U);
  EXPECT_NE(look()[0].text.find("pid 4242 (python3)"), std::string::npos);
}

TEST_F(GpuReaderTest, OurOwnRunnerIsNone) {
  proc_.write("200/stat", "200 (runner) S 100 200 100 0 -1 0 0 0 0 0 0 0 0 0\n");
  own_.update(std::vector{200}, 1);
  fake::nvml_control().busy_pid = 200;
  EXPECT_TRUE(look().empty());
}

TEST_F(GpuReaderTest, AForeignNumberThatCameWithOurRunnerIsTakenForOurs) {
  own_.update(std::vector{200}, 1);
  fake::nvml_control().busy_pid = 31337;  // not in /proc
  EXPECT_TRUE(look(1).empty());
}

TEST_F(GpuReaderTest, AForeignNumberThatWasThereBeforeIsAStranger) {
  fake::nvml_control().busy_pid = 31337;
  EXPECT_EQ(look(1).size(), 1U);
  own_.update(std::vector{200}, 2);
  EXPECT_EQ(look(2).size(), 1U);
}

TEST_F(GpuReaderTest, MoreForeignNumbersThanRunnersAreStrangersToo) {
  own_.update(std::vector{200}, 1);
  fake::nvml_control().busy_pid = 31337;
  fake::nvml_control().graphics_pid = 31338;
  EXPECT_EQ(look(1).size(), 1U);
}

TEST_F(GpuReaderTest, AFailingLibraryIsAnErrorAndTakenUpAnew) {
  EXPECT_TRUE(look().empty());
  fake::nvml_control().fail_call = fake::nvml_control().calls + 1;
  EXPECT_FALSE(reader_.look(own_, 1));
  EXPECT_TRUE(look().empty());
}

}  // namespace
}  // namespace railgauge::agent

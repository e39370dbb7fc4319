// Synthetic: NVML is the fake.
#include <gmock/gmock.h>

#include <cstdlib>

#include "agent/inventory/sources/sources.h"
#include "kernels/dl/nvml_devices.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

class NvmlFacts : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1); }
  void SetUp() override { fake::nvml_control().reset(); }
  void TearDown() override { fake::nvml_control().reset(); }
  // The kind of the first GPU's links.
  static Fact<std::vector<bool>> links() {
    const auto use = use_nvml();
    EXPECT_TRUE(use) << use.error().message;
    const auto gpus = nvml_gpus(loaded_nvml());
    EXPECT_TRUE(gpus && !gpus->empty());
    Inventory inventory;
    inventory.gpus.emplace_back().pci_address = gpus->front().pci_address;
    read_nvml()(inventory);
    return inventory.gpus.front().nvml.nvlink_active;
  }
};

TEST_F(NvmlFacts, AGpuWithoutLinksHasNoneAndOneWithSomeTellsEach) {
  EXPECT_TRUE(links().is_absent());
  fake::nvml_control().nvlinks = 4;
  EXPECT_TRUE(links().is(std::vector<bool>(4, true)));
}

TEST_F(NvmlFacts, ALinkThatDoesNotAnswerIsAnErrorNotAGpuWithoutLinks) {
  constexpr std::uint64_t kGpuIsLost = 15;
  for (const std::uint64_t count : {1U, 4U}) {
    fake::nvml_control().nvlinks = count;
    fake::nvml_control().nvlink_error = kGpuIsLost;
    const Fact<std::vector<bool>> told = links();
    EXPECT_EQ(told.state, FactState::kError) << count;
    EXPECT_THAT(told.reason, HasSubstr("nvmlDeviceGetNvLinkState"));
  }
  fake::nvml_control().nvlink_error = ml::kNoPermission;
  EXPECT_EQ(links().state, FactState::kUnknown);
}

}  // namespace
}  // namespace railgauge::agent

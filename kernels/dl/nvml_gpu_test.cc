// Compares our calls of NVML on a real GPU with nvidia-smi, the vendor's own user of NVML.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/dl/cuda.h"
#include "kernels/dl/nvml.h"

namespace railgauge {
namespace {

// The first GPU's row of `nvidia-smi --query-gpu`, or nothing.
std::vector<std::string> ask_nvidia_smi(const std::string& fields) {
  const std::string command =
      "nvidia-smi --id=0 --format=csv,noheader,nounits --query-gpu=" + fields + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string line;
  std::array<char, 1024> text{};
  while (pipe != nullptr && line.empty() &&
         std::fgets(text.data(), text.size(), pipe.get()) != nullptr)
    line = text.data();
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  std::vector<std::string> values;
  std::stringstream stream(line);
  for (std::string value; std::getline(stream, value, ',');)
    values.push_back(value.substr(value.find_first_not_of(' ')));
  return values;
}

class NvmlOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    use_ = use_nvml();
    if (!use_) GTEST_SKIP() << use_.error().message;
    if (nvml().device_get_handle_by_index(0, &device_) != ml::kSuccess)
      GTEST_SKIP() << "NVML shows no GPU";
    said_ = ask_nvidia_smi(
        "name,uuid,pci.bus_id,driver_version,clocks.sm,clocks.mem,temperature.gpu,memory.total,"
        "power.draw,pcie.link.gen.current,pcie.link.width.current,clocks_throttle_reasons.active");
    if (said_.size() != kFields) GTEST_SKIP() << "nvidia-smi does not answer";
  }
  static const Nvml& nvml() { return loaded_nvml(); }
  [[nodiscard]] double said(std::size_t field) const { return std::stod(said_[field]); }
  unsigned ask(ml::Return (*call)(ml::Device, unsigned*)) const {
    unsigned value = 0;
    EXPECT_EQ(call(device_, &value), ml::kSuccess);
    return value;
  }

  static constexpr std::size_t kFields = 12;
  Result<NvmlUse> use_ = fail(Code::kUnknown, "not asked");
  ml::Device device_ = nullptr;
  std::vector<std::string> said_;
};

TEST_F(NvmlOnAGpu, NamesAreThoseOfNvidiaSmi) {
  std::array<char, 96> text{};
  ASSERT_EQ(nvml().device_get_name(device_, text.data(), text.size()), ml::kSuccess);
  EXPECT_EQ(said_[0], text.data());
  ASSERT_EQ(nvml().device_get_uuid(device_, text.data(), text.size()), ml::kSuccess);
  EXPECT_EQ(said_[1], text.data());
  ml::PciInfo pci{};
  ASSERT_EQ(nvml().device_get_pci_info(device_, &pci), ml::kSuccess);
  EXPECT_EQ(said_[2], static_cast<const char*>(pci.bus_id));
  ASSERT_EQ(nvml().system_get_driver_version(text.data(), text.size()), ml::kSuccess);
  EXPECT_EQ(said_[3], text.data());
}

// Clocks, temperature and power move between two looks: so far apart two looks may be.
TEST_F(NvmlOnAGpu, FiguresAreThoseOfNvidiaSmi) {
  unsigned value = 0;
  ASSERT_EQ(nvml().device_get_clock_info(device_, ml::kClockMemory, &value), ml::kSuccess);
  EXPECT_NEAR(value, said(5), 0.02 * said(5));
  ASSERT_EQ(nvml().device_get_clock_info(device_, ml::kClockSm, &value), ml::kSuccess);
  EXPECT_GT(value, 0U);
  EXPECT_LT(value, 10'000U);
  ASSERT_EQ(nvml().device_get_temperature(device_, ml::kSensorGpu, &value), ml::kSuccess);
  EXPECT_NEAR(value, said(6), 5);
  EXPECT_NEAR(ask(nvml().device_get_power_usage) / 1e3, said(8), 0.5 * said(8) + 30);
  EXPECT_EQ(ask(nvml().device_get_pcie_width), said(10));
  EXPECT_LE(ask(nvml().device_get_pcie_generation), ask(nvml().device_get_max_pcie_generation));
}

TEST_F(NvmlOnAGpu, MemoryIsThatOfNvidiaSmi) {
  ml::Memory memory{};
  ASSERT_EQ(nvml().device_get_memory_info(device_, &memory), ml::kSuccess);
  constexpr double kMiB = 1 << 20;
  // On some generations nvidia-smi leaves out memory that the driver keeps for itself.
  EXPECT_NEAR(static_cast<double>(memory.total_bytes) / kMiB, said(7), 0.02 * said(7));
  EXPECT_LE(memory.used_bytes, memory.total_bytes);
}

TEST_F(NvmlOnAGpu, ReasonsAndProcessesCanBeAsked) {
  unsigned long long reasons = 0;
  const auto ask_reasons = nvml().device_get_clock_reasons != nullptr
                               ? nvml().device_get_clock_reasons
                               : nvml().device_get_throttle_reasons;
  ASSERT_NE(ask_reasons, nullptr);
  EXPECT_EQ(ask_reasons(device_, &reasons), ml::kSuccess);
  EXPECT_EQ(said_[11].substr(0, 2), "0x");
  ASSERT_NE(nvml().device_get_compute_processes, nullptr);
  std::vector<ml::Process> processes(1024);
  auto count = static_cast<unsigned>(processes.size());
  const ml::Return listed = nvml().device_get_compute_processes(device_, &count, processes.data());
  ASSERT_EQ(listed, ml::kSuccess) << nvml().error_string(listed);
  for (unsigned i = 0; i < count; ++i) {
    EXPECT_GT(processes[i].pid, 0U);
    EXPECT_LT(processes[i].pid, 1U << 24U);  // what a wrong layout would not keep
  }
  ml::Utilization utilization{};
  ASSERT_EQ(nvml().device_get_utilization(device_, &utilization), ml::kSuccess);
  EXPECT_LE(utilization.gpu_percent, 100U);
  EXPECT_LE(utilization.memory_percent, 100U);
}

// Bytes that fill a list of one layout would be nonsense in the other.
TEST_F(NvmlOnAGpu, OlderFormsOfTheListShowTheSameProcesses) {
  const auto cuda = load_cuda();
  if (!cuda) GTEST_SKIP() << cuda.error().message;
  cu::Context context = nullptr;  // so that there is one to show
  ASSERT_EQ((*cuda)->primary_ctx_retain(&context, 0), cu::kSuccess);
  const auto pids_by = [this](auto call, auto entry) {
    std::vector<decltype(entry)> list(1024);
    auto count = static_cast<unsigned>(list.size());
    std::set<unsigned> pids;
    const ml::Return listed = call(device_, &count, list.data());
    EXPECT_EQ(listed, ml::kSuccess) << nvml().error_string(listed);
    for (unsigned i = 0; listed == ml::kSuccess && i < count; ++i) pids.insert(list[i].pid);
    return pids;
  };
  ASSERT_NE(nvml().device_get_compute_processes, nullptr);
  const auto newest = pids_by(nvml().device_get_compute_processes, ml::Process{});
  if (nvml().device_get_compute_processes_v2 != nullptr) {
    EXPECT_EQ(pids_by(nvml().device_get_compute_processes_v2, ml::Process{}), newest);
  }
  if (nvml().device_get_compute_processes_v1 != nullptr) {
    EXPECT_EQ(pids_by(nvml().device_get_compute_processes_v1, ml::ProcessV1{}), newest);
  }
  if (nvml().device_get_graphics_processes != nullptr)
    pids_by(nvml().device_get_graphics_processes, ml::Process{});
  std::printf("%zu processes on GPU 0\n", newest.size());
  EXPECT_EQ((*cuda)->primary_ctx_release(0), cu::kSuccess);
}

// Drivers know different ones: printed, so that a run shows it.
TEST_F(NvmlOnAGpu, TimesUnderALimitCanBeAsked) {
  if (nvml().device_get_field_values == nullptr) GTEST_SKIP() << "the driver has no field values";
  std::array<ml::FieldValue, 5> values{};
  const std::array fields{ml::kFieldHeldByPower, ml::kFieldHeldBySyncBoost,
                          ml::kFieldHeldByHeatSoftware, ml::kFieldHeldByHeatHardware,
                          ml::kFieldHeldByPowerBrake};
  for (std::size_t i = 0; i < fields.size(); ++i) values[i].field = fields[i];
  const auto count = static_cast<int>(values.size());
  ASSERT_EQ(nvml().device_get_field_values(device_, count, values.data()), ml::kSuccess);
  int known = 0;
  for (const ml::FieldValue& value : values) {
    std::printf("field %u: returned %d, type %d, %llu ns\n", value.field, value.returned,
                value.type, value.bits);
    if (value.returned != ml::kSuccess) continue;
    ++known;
    EXPECT_GE(value.type, ml::kTypeUnsigned);
    EXPECT_LE(value.type, ml::kTypeSignedLongLong);
  }
  EXPECT_GT(known, 0);
}

}  // namespace
}  // namespace railgauge

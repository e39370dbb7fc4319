#include "kernels/testing/gpu_presence.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/nvml.h"
#include "kernels/gpu/device.h"

namespace railgauge {
namespace {

// "nvidia0" and not "nvidiactl", which is there without a GPU.
bool names_a_gpu(std::string_view file) {
  constexpr std::string_view kPrefix = "nvidia";
  if (!file.starts_with(kPrefix) || file.size() == kPrefix.size()) return false;
  return std::ranges::all_of(file.substr(kPrefix.size()),
                             [](unsigned char c) { return std::isdigit(c) != 0; });
}

void count_by_nvml(GpuEvidence& seen) {
  const auto use = use_nvml();
  unsigned count = 0;
  if (!use || loaded_nvml().device_get_count(&count) != ml::kSuccess) return;
  const Nvml& nvml = loaded_nvml();
  seen.listed = count;
  for (unsigned index = 0; index < count; ++index) {
    ml::Device device = nullptr;
    unsigned mode = 0;
    unsigned pending = 0;
    if (nvml.device_get_mig_mode != nullptr &&
        nvml.device_get_handle_by_index(index, &device) == ml::kSuccess &&
        nvml.device_get_mig_mode(device, &mode, &pending) == ml::kSuccess && mode == ml::kMigOn)
      ++seen.partitioned;
  }
}

}  // namespace

GpuEvidence find_gpu_evidence(const std::string& devices) {
  GpuEvidence seen;
  count_by_nvml(seen);
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(devices, absent))
    if (names_a_gpu(entry.path().filename().string())) seen.nodes.push_back(entry.path().string());
  std::ranges::sort(seen.nodes);
  return seen;
}

GpuPresence judge_gpu_presence(const Result<int>& cuda, const GpuEvidence& seen) {
  using Kind = GpuPresence::Kind;
  if (cuda) return {.kind = Kind::kUsable, .count = *cuda, .why = ""};
  const std::string& said = cuda.error().message;
  if (cuda.error().code == Code::kNotFound && seen.listed > 0 && seen.partitioned == seen.listed)
    return {.kind = Kind::kAbsent,
            .why = fmt::format("{}; NVML: every GPU is partitioned (MIG is on)", said)};
  if (seen.listed > 0)
    return {.kind = Kind::kBroken,
            .why = fmt::format("NVML shows {} GPUs, CUDA none: {}", seen.listed, said)};
  if (!seen.nodes.empty())
    return {.kind = Kind::kBroken,
            .why = fmt::format("{} is there, but CUDA shows no GPU: {}", seen.nodes[0], said)};
  if (outcome_of(cuda.error().code) != kWaived)
    return {.kind = Kind::kBroken, .why = "CUDA does not answer: " + said};
  return {.kind = Kind::kAbsent, .why = said};
}

GpuPresence gpu_presence() {
  const Result<int> cuda = gpu::Gpu::count();
  if (cuda) return judge_gpu_presence(cuda, {});
  // A library named in place of the driver's shows nothing of the machine's devices.
  const char* named = std::getenv(kCudaLibraryVariable);
  const bool own = named == nullptr || *named == '\0';
  return judge_gpu_presence(cuda, find_gpu_evidence(own ? "/dev" : ""));
}

bool is_gpu_slice(int index) {
  const Cuda& cuda = loaded_cuda();
  cu::Device device = 0;
  std::array<char, 256> name{};
  if (cuda.device_get(&device, index) != cu::kSuccess ||
      cuda.device_get_name(name.data(), name.size(), device) != cu::kSuccess)
    return false;
  return std::string_view(name.data()).find(" MIG ") != std::string_view::npos;
}

void need_gpu() {
  const GpuPresence presence = gpu_presence();
  if (presence.kind == GpuPresence::Kind::kAbsent) GTEST_SKIP() << presence.why;
  if (presence.kind == GpuPresence::Kind::kBroken) FAIL() << presence.why;
}

void need_whole_gpus() {
  need_gpu();
  if (::testing::Test::IsSkipped() || ::testing::Test::HasFatalFailure()) return;
  for (int index = 0; index < gpu_presence().count; ++index)
    if (is_gpu_slice(index)) GTEST_SKIP() << "gpu" << index << " is a slice (MIG is on)";
}

}  // namespace railgauge

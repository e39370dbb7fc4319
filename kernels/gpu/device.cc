// Opens a GPU and reads the facts that identify it.
#include "kernels/gpu/device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/gpu/slice.h"

namespace railgauge::gpu {
namespace {

// Between the model of the GPU and the profile of the slice, in CUDA's name of it.
constexpr std::string_view kSliceWord = " MIG ";

// The index of "gpuN", checked against the number of GPUs; "" is 0. kInvalidArgument for another
// text, kNotFound for an index out of range.
Result<int> parse_index(std::string_view endpoint, int count) {
  if (endpoint.empty()) return 0;
  constexpr std::string_view kPrefix = "gpu";
  int index = -1;
  const char* end = endpoint.data() + endpoint.size();
  if (endpoint.starts_with(kPrefix)) {
    const auto parsed = std::from_chars(endpoint.data() + kPrefix.size(), end, index);
    if (parsed.ec != std::errc() || parsed.ptr != end) index = -1;
  }
  if (index < 0)
    return fail(
        Code::kInvalidArgument,
        fmt::format("endpoint {} is no GPU; a GPU is gpu0, gpu1, ...", in_quotes(endpoint)));
  if (index >= count)
    return fail(
        Code::kNotFound,
        fmt::format("gpu{}: open: CUDA shows {} GPU{} (gpu0{})", index, count,
                    count == 1 ? "" : "s", count == 1 ? "" : fmt::format(" to gpu{}", count - 1)));
  return index;
}

}  // namespace

// The text is made only for an error: hot paths call this too.
Status gpu_status(const Gpu& gpu, cu::Return returned, std::string_view act) {
  if (returned == cu::kSuccess) return {};
  return cuda_status(loaded_cuda(), returned, fmt::format("{}: {}", gpu.name(), act));
}

// Loads the driver, so that every other call of this class may use loaded_cuda().
Result<int> Gpu::count() {
  const Cuda& cuda = *RG_TRY(load_cuda());
  int count = 0;
  RG_TRY_OK(cuda_status(cuda, cuda.device_get_count(&count), "CUDA driver: count the GPUs"));
  if (count == 0) return fail(Code::kNotFound, "CUDA driver: count the GPUs: there is none");
  return count;
}

Result<Gpu> Gpu::open(std::string_view endpoint, Slices slices) {
  const int total = RG_TRY(count());
  return open_index(loaded_cuda(), RG_TRY(parse_index(endpoint, total)), slices);
}

// Each open makes its own context current; the last call restores the first one's.
Result<std::vector<Gpu>> Gpu::open_all(Slices slices) {
  const int total = RG_TRY(count());
  std::vector<Gpu> gpus;
  gpus.reserve(static_cast<std::size_t>(total));
  for (int index = 0; index < total; ++index)
    gpus.push_back(RG_TRY(open_index(loaded_cuda(), index, slices)));
  RG_TRY_OK(gpus.front().make_current());
  return gpus;
}

// Reads the facts before the context: a refused GPU costs no context, which takes some 100 ms.
Result<Gpu> Gpu::open_index(const Cuda& cuda, int index, Slices slices) {
  Gpu gpu;
  gpu.name_ = fmt::format("gpu{}", index);
  const auto check = [&gpu](cu::Return returned, std::string_view act) {
    return gpu_status(gpu, returned, act);
  };
  RG_TRY_OK(check(cuda.device_get(&gpu.device_, index), "open"));
  std::array<char, 256> text{};
  RG_TRY_OK(check(cuda.device_get_name(text.data(), text.size(), gpu.device_), "ask its name"));
  gpu.model_ = text.data();
  RG_TRY_OK(check(cuda.device_get_pci_bus_id(text.data(), text.size(), gpu.device_),
                  "ask its PCI address"));
  gpu.pci_address_ = text.data();
  std::ranges::transform(gpu.pci_address_, gpu.pci_address_.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c | 0x20) : c;
  });
  cu::Uuid uuid{};
  if (cuda.device_get_uuid != nullptr && cuda.device_get_uuid(&uuid, gpu.device_) == cu::kSuccess)
    gpu.uuid_ = uuid_text("GPU-", uuid);
  gpu.capability_ = 10 * RG_TRY(gpu.attribute(cu::kComputeCapabilityMajor));
  gpu.capability_ += RG_TRY(gpu.attribute(cu::kComputeCapabilityMinor));
  // CUDA names a slice so: "NVIDIA H200 MIG 1g.18gb".
  if (const auto at = gpu.model_.find(kSliceWord); at != std::string::npos)
    gpu.slice_ = gpu.model_.substr(at + kSliceWord.size());
  if (!gpu.slice_.empty() && slices == Slices::kRefuse)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{}: open: it is a slice of a partitioned GPU ({}), which has a part of "
                    "the copy engines and of the memory; measure with MIG off",
                    gpu.name_, gpu.model_));
  RG_TRY_OK(check(cuda.primary_ctx_retain(&gpu.context_, gpu.device_), "make its context"));
  gpu.retained_ = PrimaryContext(gpu.device_);
  RG_TRY_OK(gpu.make_current());
  return gpu;
}

Status Gpu::make_current() const {
  return gpu_status(*this, loaded_cuda().ctx_set_current(context_), "make its context current");
}

// CUDA returns CUDA_ERROR_INVALID_VALUE for an attribute that is newer than the driver.
Result<int> Gpu::attribute(int which) const {
  int value = 0;
  const cu::Return returned = loaded_cuda().device_get_attribute(&value, which, device_);
  if (returned == cu::kInvalidValue) return 0;  // the driver is older than the attribute
  RG_TRY_OK(gpu_status(*this, returned, fmt::format("ask its attribute {}", which)));
  return value;
}

Result<std::uint64_t> Gpu::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  RG_TRY_OK(gpu_status(*this, loaded_cuda().mem_get_info(&free, &total), "ask its free memory"));
  return free;
}

// sysfs has -1 for a device without a node; an absent file means the same.
int Gpu::numa_node(const std::string& sysfs) const {
  std::ifstream file(sysfs + "/bus/pci/devices/" + pci_address_ + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

void Gpu::report_facts(Reporter& reporter) const {
  const Cuda& cuda = loaded_cuda();
  reporter.fact("device", name_);
  reporter.fact("gpu_model", model_);
  if (!slice_.empty()) reporter.fact("gpu_slice", slice_);
  if (!uuid_.empty()) reporter.fact("gpu_uuid", uuid_);
  reporter.fact("pci_address", pci_address_);
  reporter.fact("cuda_driver", cuda.version);
  reporter.fact(cuda.is_hip ? "hip_release" : "cuda_release", cuda_release(cuda.driver_version));
  reporter.fact("compute_capability", fmt::format("{}.{}", capability_ / 10, capability_ % 10));
  if (const int node = numa_node(); node >= 0) reporter.fact("numa_node", std::to_string(node));
}

}  // namespace railgauge::gpu

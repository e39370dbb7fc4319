// GPU memory that Vulkan lets the CPU see (device-local and host-visible), exported to CUDA by a
// file descriptor: needs a large BAR and the driver's Vulkan part, but no module beside the
// driver's own. The memory is Vulkan's; CUDA imports it.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "kernels/bar/backend/backend.h"
#include "kernels/bar/backend/vulkan_memory.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/vulkan.h"
#include "kernels/gpu/handles.h"
#include "kernels/gpu/reuse.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::bar {
namespace {

// Owners of VkInstance and VkDevice. Vulkan's destroy functions report no failure.
void destroy(vk::Instance instance) { loaded_vulkan().destroy_instance(instance, nullptr); }
void destroy(vk::Device device) { loaded_vulkan().destroy_device(device, nullptr); }
template <class Object>
using Owned = Handle<ReleasedBy<Object, static_cast<void (*)(Object)>(destroy)>>;
using Instance = Owned<vk::Instance>;
using Device = Owned<vk::Device>;

// An instance without layers or extensions; version 1.1 has all that is called here.
Result<Instance> make_instance() {
  const vk::ApplicationInfo application{.application_name = "railgauge",
                                        .api_version = vk::kVersion11};
  const vk::InstanceCreateInfo info{.application = &application};
  vk::Instance instance = nullptr;
  RG_TRY_OK(vulkan_status(loaded_vulkan().create_instance(&info, nullptr, &instance),
                          "vulkan: vkCreateInstance"));
  return Instance(instance);
}

// One instance for all windows that live, and for a profile's whole list. Each instance that is
// made and destroyed leaves something in NVIDIA's driver: after 29 of them a process got only
// VK_ERROR_INCOMPATIBLE_DRIVER (driver 580.159.04, loader 1.3.239). For one thread, as KeepWarm is.
Result<std::shared_ptr<Instance>> shared_instance() {
  static std::weak_ptr<Instance> last;
  if (auto living = last.lock()) return living;
  auto made = std::make_shared<Instance>(RG_TRY(make_instance()));
  last = made;
  gpu::keep_while_warm(made);
  return made;
}

// Finds Vulkan's handle of the GPU that CUDA uses. The two APIs may list the GPUs in different
// orders, so the UUID decides.
Result<vk::PhysicalDevice> find_device(const gpu::Gpu& gpu, const Instance& instance) {
  const Cuda& cuda = loaded_cuda();
  const Vulkan& vulkan = loaded_vulkan();
  cu::Uuid uuid{};
  if (cuda.device_get_uuid == nullptr)
    return fail(Code::kUnimplemented, fmt::format("vulkan: driver {} reports no UUID of the GPU; "
                                                  "CUDA 9.2 and later drivers do",
                                                  cuda.version));
  RG_TRY_OK(gpu_status(gpu, cuda.device_get_uuid(&uuid, gpu.device()), "ask its UUID"));
  std::array<vk::PhysicalDevice, 64> devices{};
  auto count = static_cast<std::uint32_t>(devices.size());
  const vk::Return listed =
      vulkan.enumerate_physical_devices(instance.get(), &count, devices.data());
  if (listed != vk::kIncomplete)
    RG_TRY_OK(vulkan_status(listed, "vulkan: vkEnumeratePhysicalDevices"));
  for (std::uint32_t i = 0; i < std::min<std::size_t>(count, devices.size()); ++i) {
    vk::PhysicalDeviceIdProperties ids;
    vk::PhysicalDeviceProperties2 properties{.next = &ids};
    vulkan.get_physical_device_properties2(devices[i], &properties);
    if (std::memcmp(ids.device_uuid, uuid.bytes, sizeof uuid.bytes) == 0) return devices[i];
  }
  return fail(Code::kNotFound, fmt::format("vulkan: none of its {} devices is {} ({})", count,
                                           gpu.name(), gpu.uuid()));
}

// A device with one queue, which the API requires and which is never used.
Result<Device> make_device(vk::PhysicalDevice physical) {
  const float priority = 1;
  const vk::DeviceQueueCreateInfo queue{.count = 1, .priorities = &priority};
  const vk::DeviceCreateInfo info{.queue_info_count = 1,
                                  .queue_infos = &queue,
                                  .extension_count = 1,
                                  .extensions = &vk::kExternalMemoryFdExtension};
  vk::Device device = nullptr;
  RG_TRY_OK(
      vulkan_status(loaded_vulkan().create_device(physical, &info, nullptr, &device),
                    fmt::format("vulkan: vkCreateDevice with {}", vk::kExternalMemoryFdExtension)));
  return Device(device);
}

// Memory of Vulkan that CUDA imports. The length is rounded up to whole GPU pages.
class VulkanWindow final : public Window {
 public:
  VulkanWindow(std::shared_ptr<Instance> instance, Device device,
               const vk::MemoryProperties& memory_properties, std::size_t bytes)
      : instance_(std::move(instance)),
        device_(std::move(device)),
        memory_properties_(memory_properties),
        bytes_((bytes + GpuBuffer::kPageBytes - 1) / GpuBuffer::kPageBytes *
               GpuBuffer::kPageBytes) {}
  ~VulkanWindow() override {
    static_cast<void>(unmap());
    static_cast<void>(unpin());
  }

  // Allocates, exports and imports: no memory exists before.
  Status pin() override {
    Status pinned = allocate_and_import();
    if (!pinned) static_cast<void>(unpin());
    return pinned;
  }

  // The mapping stays valid until vkUnmapMemory, whatever the GPU does meanwhile.
  Status map() override {
    RG_TRY_OK(vulkan_status(
        loaded_vulkan().map_memory(device_.get(), memory_, 0, vk::kWholeSize, 0, &mapped_),
        fmt::format("vulkan: vkMapMemory of {}", canonical_bytes(bytes_))));
    return {};
  }

  Status unmap() override {
    if (std::exchange(mapped_, nullptr) != nullptr)
      loaded_vulkan().unmap_memory(device_.get(), memory_);
    return {};
  }

  // Frees in the reverse order: CUDA's buffer, CUDA's import, Vulkan's memory. Every step is
  // skipped where it was not reached.
  Status unpin() override {
    const Cuda& cuda = loaded_cuda();
    Status freed;
    if (const cu::DevicePtr imported = std::exchange(imported_, 0); imported != 0)
      freed = cuda_status(cuda, cuda.mem_free(imported), "vulkan: free the imported buffer");
    import_.reset();
    const Vulkan& vulkan = loaded_vulkan();
    if (vk::Memory memory = std::exchange(memory_, nullptr); memory != nullptr)
      vulkan.free_memory(device_.get(), memory, nullptr);
    return freed;
  }

  [[nodiscard]] View view() const override {
    return {static_cast<std::byte*>(mapped_), imported_, bytes_, caching_};
  }

 private:
  // Memory, then its file descriptor, then CUDA's view of it.
  Status allocate_and_import() {
    RG_TRY_OK(allocate());
    return import(RG_TRY(export_memory()));
  }

  // Allocates memory without a buffer. For a buffer that can be exported, NVIDIA's driver names
  // only types that the CPU does not see (driver 580, H200), and CUDA needs no buffer of Vulkan.
  Status allocate() {
    const std::uint32_t type = RG_TRY(pick_memory_type(memory_properties_, ~0U, bytes_));
    const vk::ExportMemoryAllocateInfo exported{.handle_types = vk::kExternalOpaqueFd};
    const vk::MemoryAllocateInfo info{.next = &exported, .size = bytes_, .type_index = type};
    RG_TRY_OK(vulkan_status(
        loaded_vulkan().allocate_memory(device_.get(), &info, nullptr, &memory_),
        fmt::format("vulkan: vkAllocateMemory of {} from type {}", canonical_bytes(bytes_), type)));
    caching_ = (memory_properties_.types[type].flags & vk::kMemoryHostCached) != 0
                   ? Caching::kCached
                   : Caching::kWriteCombined;
    return {};
  }

  // vkGetMemoryFdKHR belongs to an extension, so the device returns its address.
  Result<Fd> export_memory() {
    const auto get_fd = reinterpret_cast<vk::GetMemoryFd>(
        loaded_vulkan().get_device_proc_addr(device_.get(), "vkGetMemoryFdKHR"));
    if (get_fd == nullptr)
      return fail(Code::kUnimplemented, "vulkan: the driver lacks vkGetMemoryFdKHR");
    const vk::MemoryGetFdInfo info{.memory = memory_, .handle_type = vk::kExternalOpaqueFd};
    int fd = -1;
    RG_TRY_OK(vulkan_status(get_fd(device_.get(), &info, &fd), "vulkan: vkGetMemoryFdKHR"));
    return Fd(fd);
  }

  // CUDA owns the descriptor once the import succeeds; before that it stays this function's.
  Status import(Fd fd) {
    const Cuda& cuda = loaded_cuda();
    cu::ExternalMemoryHandleDesc handle{};
    handle.type = cu::kExternalMemoryOpaqueFd;
    handle.handle.fd = fd.get();
    handle.size = bytes_;
    cu::ExternalMemory imported = nullptr;
    RG_TRY_OK(cuda_status(cuda, cuda.import_external_memory(&imported, &handle),
                          "vulkan: cuImportExternalMemory"));
    static_cast<void>(fd.release());  // CUDA's since the import succeeded
    import_ = gpu::ExternalMemory(imported);
    cu::ExternalMemoryBufferDesc whole{};
    whole.size = bytes_;
    return cuda_status(
        cuda, cuda.external_memory_get_mapped_buffer(&imported_, imported, &whole),
        fmt::format("vulkan: cuExternalMemoryGetMappedBuffer of {}", canonical_bytes(bytes_)));
  }

  // Members are released in reverse: import, memory, device, and the instance last.
  std::shared_ptr<Instance> instance_;
  Device device_;
  vk::MemoryProperties memory_properties_;
  std::size_t bytes_;
  vk::Memory memory_ = nullptr;
  gpu::ExternalMemory import_;
  cu::DevicePtr imported_ = 0;
  void* mapped_ = nullptr;
  Caching caching_ = Caching::kUnknown;
};

// Needs a driver of CUDA 10.0 for the import of external memory.
class VulkanBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "vulkan"; }

  Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) override {
    const Cuda& cuda = loaded_cuda();
    if (cuda.import_external_memory == nullptr ||
        cuda.external_memory_get_mapped_buffer == nullptr ||
        cuda.destroy_external_memory == nullptr)
      return fail(Code::kUnimplemented,
                  fmt::format("vulkan: driver {} cannot import memory into CUDA; CUDA 10.0 and "
                              "later drivers can",
                              cuda.version));
    const Vulkan& vulkan = *RG_TRY(load_vulkan());
    synthetic_ = vulkan.synthetic;
    library_ = "libvulkan " + vulkan.version;
    std::shared_ptr<Instance> instance = RG_TRY(shared_instance());
    vk::PhysicalDevice physical = RG_TRY(find_device(gpu, *instance));
    vk::MemoryProperties memory;
    vulkan.get_memory_properties(physical, &memory);
    Device device = RG_TRY(make_device(physical));
    return std::make_unique<VulkanWindow>(std::move(instance), std::move(device), memory, bytes);
  }

  // Always refuses: Vulkan maps only memory that it allocated.
  Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                        std::size_t /*bytes*/) override {
    RG_TRY_OK(check_fixed_memory(gpu, memory));
    return fail(Code::kUnimplemented,
                "vulkan: it maps only memory that it allocated itself, none of cuMemAlloc");
  }

  [[nodiscard]] std::string library() const override { return library_; }
  [[nodiscard]] bool synthetic() const override { return synthetic_; }

 private:
  std::string library_;
  bool synthetic_ = false;
};

}  // namespace

std::unique_ptr<Backend> make_vulkan_backend() { return std::make_unique<VulkanBackend>(); }

}  // namespace railgauge::bar

// Vulkan, as far as we call it: declared here and loaded at run time. It gives GPU memory that the
// CPU can map, exported to CUDA. vulkan_abi_test.cc compares every declaration with the vendor's
// header where that is installed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

// The API's types and numbers under our own names, so that a test can include both headers.
namespace railgauge::vk {

using Return = int;  // VkResult
using Instance = struct InstanceObject*;
// Not owned: a physical device lives as long as its instance.
using PhysicalDevice = struct PhysicalDeviceObject*;
using Device = struct DeviceObject*;
using Memory = struct MemoryObject*;  // VkDeviceMemory

// VkResult: errors are negative.
inline constexpr Return kSuccess = 0;
inline constexpr Return kIncomplete = 5;
inline constexpr Return kOutOfHostMemory = -1;
inline constexpr Return kOutOfDeviceMemory = -2;
inline constexpr Return kInitializationFailed = -3;
inline constexpr Return kDeviceLost = -4;
inline constexpr Return kMemoryMapFailed = -5;
inline constexpr Return kLayerNotPresent = -6;
inline constexpr Return kExtensionNotPresent = -7;
inline constexpr Return kFeatureNotPresent = -8;
inline constexpr Return kIncompatibleDriver = -9;

// VK_API_VERSION_1_1.
inline constexpr std::uint32_t kVersion11 = (1U << 22U) | (1U << 12U);

// VkStructureType
inline constexpr int kApplicationInfo = 0;
inline constexpr int kInstanceCreateInfo = 1;
inline constexpr int kDeviceQueueCreateInfo = 2;
inline constexpr int kDeviceCreateInfo = 3;
inline constexpr int kMemoryAllocateInfo = 5;
inline constexpr int kPhysicalDeviceProperties2 = 1000059001;
inline constexpr int kPhysicalDeviceIdProperties = 1000071004;
inline constexpr int kExportMemoryAllocateInfo = 1000072002;
inline constexpr int kMemoryGetFdInfo = 1000074002;

// Bits
inline constexpr std::uint32_t kMemoryDeviceLocal = 1;
inline constexpr std::uint32_t kMemoryHostVisible = 2;
inline constexpr std::uint32_t kMemoryHostCoherent = 4;
inline constexpr std::uint32_t kMemoryHostCached = 8;
inline constexpr std::uint32_t kExternalOpaqueFd = 1;
inline constexpr std::uint64_t kWholeSize = ~std::uint64_t{0};
inline constexpr const char* kExternalMemoryFdExtension = "VK_KHR_external_memory_fd";

// NOLINTBEGIN(modernize-avoid-c-arrays): the vendor's layout
// Each structure begins with its type and a chain of extensions (Vulkan specification, 3.7.3).
struct ApplicationInfo {
  int type = kApplicationInfo;
  const void* next = nullptr;
  const char* application_name = nullptr;
  std::uint32_t application_version = 0;
  const char* engine_name = nullptr;
  std::uint32_t engine_version = 0;
  std::uint32_t api_version = 0;
};
struct InstanceCreateInfo {
  int type = kInstanceCreateInfo;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  const ApplicationInfo* application = nullptr;
  std::uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  std::uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
};
struct PhysicalDeviceIdProperties {
  int type = kPhysicalDeviceIdProperties;
  void* next = nullptr;
  std::uint8_t device_uuid[16] = {};
  std::uint8_t driver_uuid[16] = {};
  std::uint8_t device_luid[8] = {};
  std::uint32_t device_node_mask = 0;
  std::uint32_t device_luid_valid = 0;
};
// VkPhysicalDeviceProperties2 with VkPhysicalDeviceProperties inside; `limits` are not read.
struct PhysicalDeviceProperties2 {
  int type = kPhysicalDeviceProperties2;
  void* next = nullptr;
  std::uint32_t api_version = 0;
  std::uint32_t driver_version = 0;
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  int device_type = 0;
  char device_name[256] = {};
  std::uint8_t pipeline_cache_uuid[16] = {};
  alignas(8) unsigned char limits[504] = {};
  std::uint32_t sparse_properties[5] = {};
};
// VkMemoryType: bits of kMemory..., and the heap that it allocates from.
struct MemoryType {
  std::uint32_t flags = 0;
  std::uint32_t heap_index = 0;
};
// VkMemoryHeap; `size` is in bytes.
struct MemoryHeap {
  std::uint64_t size = 0;
  std::uint32_t flags = 0;
};
struct MemoryProperties {  // VkPhysicalDeviceMemoryProperties
  std::uint32_t type_count = 0;
  MemoryType types[32] = {};
  std::uint32_t heap_count = 0;
  MemoryHeap heaps[16] = {};
};
struct DeviceQueueCreateInfo {
  int type = kDeviceQueueCreateInfo;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t family_index = 0;
  std::uint32_t count = 0;
  const float* priorities = nullptr;
};
struct DeviceCreateInfo {
  int type = kDeviceCreateInfo;
  const void* next = nullptr;
  std::uint32_t flags = 0;
  std::uint32_t queue_info_count = 0;
  const DeviceQueueCreateInfo* queue_infos = nullptr;
  std::uint32_t layer_count = 0;
  const char* const* layers = nullptr;
  std::uint32_t extension_count = 0;
  const char* const* extensions = nullptr;
  const void* features = nullptr;
};
struct ExportMemoryAllocateInfo {
  int type = kExportMemoryAllocateInfo;
  const void* next = nullptr;
  std::uint32_t handle_types = 0;
};
struct MemoryAllocateInfo {
  int type = kMemoryAllocateInfo;
  const void* next = nullptr;
  std::uint64_t size = 0;
  std::uint32_t type_index = 0;
};
struct MemoryGetFdInfo {
  int type = kMemoryGetFdInfo;
  const void* next = nullptr;
  Memory memory = nullptr;
  std::uint32_t handle_type = 0;
};
// NOLINTEND(modernize-avoid-c-arrays)

using VoidFunction = void (*)();
// From get_device_proc_addr: the loader does not export functions of extensions.
using GetMemoryFd = Return (*)(Device, const MemoryGetFdInfo*, int*);

}  // namespace railgauge::vk

// One row a function: slot, exported symbol, result, parameters. All are in Vulkan 1.1. The last
// parameter of create and destroy functions is the allocator's callbacks, always nullptr here.
#define RAILGAUGE_VULKAN_ROWS(ROW)                                                            \
  ROW(create_instance, vkCreateInstance, vk::Return,                                          \
      (const vk::InstanceCreateInfo*, const void*, vk::Instance*))                            \
  ROW(destroy_instance, vkDestroyInstance, void, (vk::Instance, const void*))                 \
  ROW(enumerate_physical_devices, vkEnumeratePhysicalDevices, vk::Return,                     \
      (vk::Instance, std::uint32_t*, vk::PhysicalDevice*))                                    \
  ROW(get_physical_device_properties2, vkGetPhysicalDeviceProperties2, void,                  \
      (vk::PhysicalDevice, vk::PhysicalDeviceProperties2*))                                   \
  ROW(get_memory_properties, vkGetPhysicalDeviceMemoryProperties, void,                       \
      (vk::PhysicalDevice, vk::MemoryProperties*))                                            \
  ROW(create_device, vkCreateDevice, vk::Return,                                              \
      (vk::PhysicalDevice, const vk::DeviceCreateInfo*, const void*, vk::Device*))            \
  ROW(destroy_device, vkDestroyDevice, void, (vk::Device, const void*))                       \
  ROW(get_device_proc_addr, vkGetDeviceProcAddr, vk::VoidFunction, (vk::Device, const char*)) \
  ROW(allocate_memory, vkAllocateMemory, vk::Return,                                          \
      (vk::Device, const vk::MemoryAllocateInfo*, const void*, vk::Memory*))                  \
  ROW(free_memory, vkFreeMemory, void, (vk::Device, vk::Memory, const void*))                 \
  ROW(map_memory, vkMapMemory, vk::Return,                                                    \
      (vk::Device, vk::Memory, std::uint64_t, std::uint64_t, std::uint32_t, void**))          \
  ROW(unmap_memory, vkUnmapMemory, void, (vk::Device, vk::Memory))

namespace railgauge {

// The loader's functions and facts. Read-only once loaded.
struct Vulkan {
#define RAILGAUGE_SLOT(slot, symbol, result, parameters) \
  result(*slot) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses)
  RAILGAUGE_VULKAN_ROWS(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  std::string path;        // the file that was loaded
  std::string version;     // from its name: the loader's, "1.3.239"
  bool synthetic = false;  // a fake: it exports kSyntheticVulkanMarker
};

// The fake's marker, and the name by which the system's loader finds Vulkan's.
inline constexpr const char* kSyntheticVulkanMarker = "railgauge_synthetic_vulkan";
inline constexpr const char* kVulkanLibrary = "libvulkan.so.1";
// Names another file to load instead, such as the fake of kernels/fakes.
inline constexpr const char* kVulkanLibraryVariable = "RAILGAUGE_LIBVULKAN";

// Fills a table from the library `name`. kNotFound: no loader; kUnimplemented: a function is
// missing.
Result<Vulkan> bind_vulkan(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_vulkan(). Thread
// safe.
Result<const Vulkan*> load_vulkan();

// Returns the loaded table, for releasing handles; CHECKs that load_vulkan() succeeded before.
const Vulkan& loaded_vulkan();

// Converts a call's result to a Status: "`act`: VK_ERROR_OUT_OF_DEVICE_MEMORY (-2)", with the
// remedy where one is known. A lack of memory, an extension, a layer, a feature or a driver waives
// (kFailedPrecondition); everything else, such as a lost device, is kInternal.
Status vulkan_status(vk::Return returned, std::string_view act);

}  // namespace railgauge

// Compares our declarations of Vulkan with the real header, at compile time, where it is installed;
// without it the first test waives.
#include "kernels/dl/vulkan.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#if __has_include(<vulkan/vulkan_core.h>)
#include <vulkan/vulkan_core.h>
#define RAILGAUGE_HAS_VULKAN_H 1
#else
#define RAILGAUGE_HAS_VULKAN_H 0
#endif

namespace railgauge {
namespace {

#if RAILGAUGE_HAS_VULKAN_H
// Two types that a call passes alike.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_void_v<A> || std::is_void_v<B>) {
    return std::is_void_v<A> && std::is_void_v<B>;
  } else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return std::is_pointer_v<A> && std::is_pointer_v<B>;
  } else {
    constexpr bool kIntegers =
        (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
    return kIntegers && sizeof(A) == sizeof(B);
  }
}
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<alike<R1, R2>() && (alike<A1, A2>() && ...)> {
};

#define RAILGAUGE_SAME(slot, symbol, result, parameters) \
  static_assert(SameCall<decltype(Vulkan::slot), decltype(&::symbol)>::value, #symbol);
RAILGAUGE_VULKAN_ROWS(RAILGAUGE_SAME)
#undef RAILGAUGE_SAME
static_assert(SameCall<vk::GetMemoryFd, PFN_vkGetMemoryFdKHR>::value);

// NOLINTBEGIN(bugprone-sizeof-expression): fields that are pointers have sizes too
#define RAILGAUGE_SIZE(ours, theirs) static_assert(sizeof(vk::ours) == sizeof(theirs), #theirs)
#define RAILGAUGE_FIELD(ours, our_field, theirs, their_field)                     \
  static_assert(offsetof(vk::ours, our_field) == offsetof(theirs, their_field) && \
                    sizeof(vk::ours::our_field) == sizeof(theirs::their_field),   \
                #their_field)
RAILGAUGE_SIZE(ApplicationInfo, VkApplicationInfo);
RAILGAUGE_FIELD(ApplicationInfo, application_name, VkApplicationInfo, pApplicationName);
RAILGAUGE_FIELD(ApplicationInfo, api_version, VkApplicationInfo, apiVersion);
RAILGAUGE_SIZE(InstanceCreateInfo, VkInstanceCreateInfo);
RAILGAUGE_FIELD(InstanceCreateInfo, application, VkInstanceCreateInfo, pApplicationInfo);
RAILGAUGE_FIELD(InstanceCreateInfo, extension_count, VkInstanceCreateInfo, enabledExtensionCount);
RAILGAUGE_FIELD(InstanceCreateInfo, extensions, VkInstanceCreateInfo, ppEnabledExtensionNames);
RAILGAUGE_SIZE(PhysicalDeviceIdProperties, VkPhysicalDeviceIDProperties);
RAILGAUGE_FIELD(PhysicalDeviceIdProperties, device_uuid, VkPhysicalDeviceIDProperties, deviceUUID);
RAILGAUGE_SIZE(PhysicalDeviceProperties2, VkPhysicalDeviceProperties2);
static_assert(offsetof(vk::PhysicalDeviceProperties2, api_version) ==
              offsetof(VkPhysicalDeviceProperties2, properties));
static_assert(offsetof(vk::PhysicalDeviceProperties2, device_name) ==
              offsetof(VkPhysicalDeviceProperties2, properties) +
                  offsetof(VkPhysicalDeviceProperties, deviceName));
RAILGAUGE_SIZE(MemoryType, VkMemoryType);
RAILGAUGE_FIELD(MemoryType, heap_index, VkMemoryType, heapIndex);
RAILGAUGE_SIZE(MemoryHeap, VkMemoryHeap);
RAILGAUGE_FIELD(MemoryHeap, flags, VkMemoryHeap, flags);
RAILGAUGE_SIZE(MemoryProperties, VkPhysicalDeviceMemoryProperties);
RAILGAUGE_FIELD(MemoryProperties, types, VkPhysicalDeviceMemoryProperties, memoryTypes);
RAILGAUGE_FIELD(MemoryProperties, heap_count, VkPhysicalDeviceMemoryProperties, memoryHeapCount);
RAILGAUGE_FIELD(MemoryProperties, heaps, VkPhysicalDeviceMemoryProperties, memoryHeaps);
RAILGAUGE_SIZE(DeviceQueueCreateInfo, VkDeviceQueueCreateInfo);
RAILGAUGE_FIELD(DeviceQueueCreateInfo, family_index, VkDeviceQueueCreateInfo, queueFamilyIndex);
RAILGAUGE_FIELD(DeviceQueueCreateInfo, count, VkDeviceQueueCreateInfo, queueCount);
RAILGAUGE_FIELD(DeviceQueueCreateInfo, priorities, VkDeviceQueueCreateInfo, pQueuePriorities);
RAILGAUGE_SIZE(DeviceCreateInfo, VkDeviceCreateInfo);
RAILGAUGE_FIELD(DeviceCreateInfo, queue_info_count, VkDeviceCreateInfo, queueCreateInfoCount);
RAILGAUGE_FIELD(DeviceCreateInfo, queue_infos, VkDeviceCreateInfo, pQueueCreateInfos);
RAILGAUGE_FIELD(DeviceCreateInfo, extension_count, VkDeviceCreateInfo, enabledExtensionCount);
RAILGAUGE_FIELD(DeviceCreateInfo, extensions, VkDeviceCreateInfo, ppEnabledExtensionNames);
RAILGAUGE_SIZE(ExportMemoryAllocateInfo, VkExportMemoryAllocateInfo);
RAILGAUGE_FIELD(ExportMemoryAllocateInfo, handle_types, VkExportMemoryAllocateInfo, handleTypes);
RAILGAUGE_SIZE(MemoryAllocateInfo, VkMemoryAllocateInfo);
RAILGAUGE_FIELD(MemoryAllocateInfo, size, VkMemoryAllocateInfo, allocationSize);
RAILGAUGE_FIELD(MemoryAllocateInfo, type_index, VkMemoryAllocateInfo, memoryTypeIndex);
RAILGAUGE_SIZE(MemoryGetFdInfo, VkMemoryGetFdInfoKHR);
RAILGAUGE_FIELD(MemoryGetFdInfo, memory, VkMemoryGetFdInfoKHR, memory);
RAILGAUGE_FIELD(MemoryGetFdInfo, handle_type, VkMemoryGetFdInfoKHR, handleType);
#undef RAILGAUGE_FIELD
#undef RAILGAUGE_SIZE
// NOLINTEND(bugprone-sizeof-expression)

#define RAILGAUGE_NUMBER(ours, theirs) \
  static_assert(static_cast<long long>(vk::ours) == static_cast<long long>(theirs), #theirs)
RAILGAUGE_NUMBER(kSuccess, VK_SUCCESS);
RAILGAUGE_NUMBER(kIncomplete, VK_INCOMPLETE);
RAILGAUGE_NUMBER(kOutOfHostMemory, VK_ERROR_OUT_OF_HOST_MEMORY);
RAILGAUGE_NUMBER(kOutOfDeviceMemory, VK_ERROR_OUT_OF_DEVICE_MEMORY);
RAILGAUGE_NUMBER(kInitializationFailed, VK_ERROR_INITIALIZATION_FAILED);
RAILGAUGE_NUMBER(kDeviceLost, VK_ERROR_DEVICE_LOST);
RAILGAUGE_NUMBER(kLayerNotPresent, VK_ERROR_LAYER_NOT_PRESENT);
RAILGAUGE_NUMBER(kFeatureNotPresent, VK_ERROR_FEATURE_NOT_PRESENT);
RAILGAUGE_NUMBER(kMemoryMapFailed, VK_ERROR_MEMORY_MAP_FAILED);
RAILGAUGE_NUMBER(kExtensionNotPresent, VK_ERROR_EXTENSION_NOT_PRESENT);
RAILGAUGE_NUMBER(kIncompatibleDriver, VK_ERROR_INCOMPATIBLE_DRIVER);
RAILGAUGE_NUMBER(kVersion11, VK_API_VERSION_1_1);
RAILGAUGE_NUMBER(kApplicationInfo, VK_STRUCTURE_TYPE_APPLICATION_INFO);
RAILGAUGE_NUMBER(kInstanceCreateInfo, VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
RAILGAUGE_NUMBER(kDeviceQueueCreateInfo, VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
RAILGAUGE_NUMBER(kDeviceCreateInfo, VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
RAILGAUGE_NUMBER(kMemoryAllocateInfo, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
RAILGAUGE_NUMBER(kPhysicalDeviceProperties2, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
RAILGAUGE_NUMBER(kPhysicalDeviceIdProperties, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
RAILGAUGE_NUMBER(kExportMemoryAllocateInfo, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
RAILGAUGE_NUMBER(kMemoryGetFdInfo, VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
RAILGAUGE_NUMBER(kMemoryDeviceLocal, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
RAILGAUGE_NUMBER(kMemoryHostVisible, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
RAILGAUGE_NUMBER(kMemoryHostCoherent, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
RAILGAUGE_NUMBER(kMemoryHostCached, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
RAILGAUGE_NUMBER(kExternalOpaqueFd, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
RAILGAUGE_NUMBER(kWholeSize, VK_WHOLE_SIZE);
#undef RAILGAUGE_NUMBER
static_assert(std::string_view(vk::kExternalMemoryFdExtension) ==
              VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
#endif

TEST(VulkanTable, DeclarationsAreThoseOfTheHeader) {
  if (!RAILGAUGE_HAS_VULKAN_H)
    GTEST_SKIP() << "no vulkan_core.h here: nothing to hold them against";
  SUCCEED() << "checked when this was compiled";
}

TEST(VulkanTable, SaysWhatToInstallWhenTheLoaderIsAbsent) {
  const auto vulkan = bind_vulkan("libvulkan-absent.so.1");
  ASSERT_FALSE(vulkan);
  EXPECT_EQ(vulkan.error().code, Code::kNotFound);
  EXPECT_THAT(vulkan.error().message, ::testing::HasSubstr("install libvulkan1"));
}

TEST(VulkanTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto vulkan = bind_vulkan("libm.so.6");
  ASSERT_FALSE(vulkan);
  EXPECT_EQ(vulkan.error().code, Code::kUnimplemented);
  EXPECT_THAT(vulkan.error().message, ::testing::HasSubstr("vkCreateInstance"));
}

TEST(VulkanTable, NamesAnErrorAndSaysWhatHelpsWithoutADriver) {
  const Status status = vulkan_status(vk::kIncompatibleDriver, "Vulkan: make an instance");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(status.error().message,
              ::testing::HasSubstr("make an instance: VK_ERROR_INCOMPATIBLE_DRIVER (-9); the "
                                   "loader finds no driver"));
}

TEST(VulkanTable, WaivesOnlyWhatTheMachineLacks) {
  for (const vk::Return lacks :
       {vk::kOutOfHostMemory, vk::kOutOfDeviceMemory, vk::kInitializationFailed,
        vk::kMemoryMapFailed, vk::kLayerNotPresent, vk::kExtensionNotPresent,
        vk::kFeatureNotPresent, vk::kIncompatibleDriver})
    EXPECT_EQ(vulkan_status(lacks, "act").error().code, Code::kFailedPrecondition) << lacks;
  constexpr vk::Return kUnknown = -13;
  for (const vk::Return broken : {vk::kDeviceLost, kUnknown, vk::kIncomplete})
    EXPECT_EQ(vulkan_status(broken, "act").error().code, Code::kInternal) << broken;
  EXPECT_EQ(vulkan_status(vk::kDeviceLost, "act").error().message,
            "act: VK_ERROR_DEVICE_LOST (-4)");
}

}  // namespace
}  // namespace railgauge

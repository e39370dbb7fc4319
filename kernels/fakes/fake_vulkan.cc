#include "kernels/fakes/fake_vulkan.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "kernels/dl/vulkan.h"
#include "kernels/fakes/fake_uuid.h"
#include "kernels/fakes/settings.h"

namespace railgauge::vk {
struct InstanceObject {};
struct PhysicalDeviceObject {
  unsigned index = 0;
};
struct DeviceObject {};
struct MemoryObject {
  int fd = -1;
  std::uint64_t bytes = 0;
  void* mapped = nullptr;
};
}  // namespace railgauge::vk

namespace vk = railgauge::vk;

extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, result, parameters) result symbol parameters;
RAILGAUGE_VULKAN_ROWS(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}

namespace railgauge::fake {

VulkanControl& vulkan_control() {
  static VulkanControl* control = [] {
    auto* made = new VulkanControl;
    made->reset();
    return made;
  }();
  return *control;
}

void VulkanControl::reset() {
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"fail_error", fail_error, 3},
                            Setting{"gpus", gpus, 2},
                            Setting{"no_large_bar", no_large_bar, 0},
                            Setting{"other_uuid", other_uuid, 0},
                            Setting{"no_export", no_export, 0}};
  apply_settings(settings, "RAILGAUGE_FAKE_VULKAN");
  calls = 0;
  instances = 0;
}

namespace {

constexpr unsigned kMaxGpus = 16;

std::array<vk::PhysicalDeviceObject, kMaxGpus>& devices() {
  static std::array<vk::PhysicalDeviceObject, kMaxGpus> all = [] {
    std::array<vk::PhysicalDeviceObject, kMaxGpus> made;
    for (unsigned i = 0; i < kMaxGpus; ++i) made[i].index = i;
    return made;
  }();
  return all;
}

vk::Return enter() {
  VulkanControl& control = vulkan_control();
  if (++control.calls != control.fail_call) return vk::kSuccess;
  return -static_cast<vk::Return>(control.fail_error);
}

// Each structure of a chain begins with its type and the next one.
struct Chained {
  int type;
  const Chained* next;
};
template <class T>
const T* find_in_chain(const void* first, int type) {
  for (const auto* at = static_cast<const Chained*>(first); at != nullptr; at = at->next)
    if (at->type == type) return reinterpret_cast<const T*>(at);
  return nullptr;
}

template <class Object>
vk::Return give(Object** out, Object made) {
  *out = new Object(made);
  ++vulkan_control().live_handles;
  return vk::kSuccess;
}
template <class Object>
void take(Object* object) {
  if (object == nullptr) return;
  delete object;
  --vulkan_control().live_handles;
}

vk::Return get_memory_fd(vk::Device, const vk::MemoryGetFdInfo* info, int* fd) {
  if (const vk::Return failed = enter(); failed != vk::kSuccess) return failed;
  if (info->handle_type != vk::kExternalOpaqueFd) return vk::kInitializationFailed;
  *fd = fcntl(info->memory->fd, F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? vk::kOutOfHostMemory : vk::kSuccess;
}

}  // namespace
}  // namespace railgauge::fake

using railgauge::fake::enter;
using railgauge::fake::find_in_chain;
using railgauge::fake::give;
using railgauge::fake::take;
using railgauge::fake::vulkan_control;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const vk::Return failed = enter(); failed != vk::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

void railgauge_synthetic_vulkan() {}

vk::Return vkCreateInstance(const vk::InstanceCreateInfo*, const void*, vk::Instance* out) {
  RAILGAUGE_ENTER;
  ++vulkan_control().instances;
  return give(out, vk::InstanceObject{});
}
void vkDestroyInstance(vk::Instance instance, const void*) { take(instance); }

vk::Return vkEnumeratePhysicalDevices(vk::Instance, std::uint32_t* count, vk::PhysicalDevice* out) {
  RAILGAUGE_ENTER;
  const auto all =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(vulkan_control().gpus), fake::kMaxGpus);
  if (out == nullptr) {
    *count = all;
    return vk::kSuccess;
  }
  *count = std::min(*count, all);
  for (std::uint32_t i = 0; i < *count; ++i) out[i] = &fake::devices()[i];
  return *count < all ? vk::kIncomplete : vk::kSuccess;
}

void vkGetPhysicalDeviceProperties2(vk::PhysicalDevice device,
                                    vk::PhysicalDeviceProperties2* properties) {
  properties->api_version = vk::kVersion11;
  std::snprintf(static_cast<char*>(properties->device_name), sizeof properties->device_name,
                "Railgauge fake");
  const auto* ids = find_in_chain<vk::PhysicalDeviceIdProperties>(properties->next,
                                                                  vk::kPhysicalDeviceIdProperties);
  if (ids == nullptr) return;
  auto uuid = fake::fake_uuid(device->index);
  if (vulkan_control().other_uuid != 0) uuid[0] = 'x';
  std::ranges::copy(uuid, const_cast<vk::PhysicalDeviceIdProperties*>(ids)->device_uuid);
}

void vkGetPhysicalDeviceMemoryProperties(vk::PhysicalDevice, vk::MemoryProperties* properties) {
  constexpr std::uint64_t kHeapBytes = 8ULL << 30U;
  *properties = {};
  properties->heap_count = 2;
  properties->heaps[0] = {.size = kHeapBytes, .flags = 1};
  properties->heaps[1] = {.size = kHeapBytes, .flags = 0};
  properties->type_count = vulkan_control().no_large_bar != 0 ? 2 : 3;
  properties->types[0] = {.flags = vk::kMemoryDeviceLocal, .heap_index = 0};
  properties->types[1] = {.flags = vk::kMemoryHostVisible | vk::kMemoryHostCoherent,
                          .heap_index = 1};
  properties->types[2] = {
      .flags = vk::kMemoryDeviceLocal | vk::kMemoryHostVisible | vk::kMemoryHostCoherent,
      .heap_index = 0};
}

vk::Return vkCreateDevice(vk::PhysicalDevice, const vk::DeviceCreateInfo*, const void*,
                          vk::Device* out) {
  RAILGAUGE_ENTER;
  return give(out, vk::DeviceObject{});
}
void vkDestroyDevice(vk::Device device, const void*) { take(device); }

vk::VoidFunction vkGetDeviceProcAddr(vk::Device, const char* name) {
  if (std::string_view(name) != "vkGetMemoryFdKHR" || vulkan_control().no_export != 0)
    return nullptr;
  return reinterpret_cast<vk::VoidFunction>(&fake::get_memory_fd);
}

vk::Return vkAllocateMemory(vk::Device, const vk::MemoryAllocateInfo* info, const void*,
                            vk::Memory* out) {
  RAILGAUGE_ENTER;
  const int fd = memfd_create("railgauge-fake-vulkan", MFD_CLOEXEC);
  if (fd < 0) return vk::kOutOfHostMemory;
  if (ftruncate(fd, static_cast<off_t>(info->size)) != 0) {
    close(fd);
    return vk::kOutOfDeviceMemory;
  }
  return give(out, vk::MemoryObject{.fd = fd, .bytes = info->size});
}
void vkFreeMemory(vk::Device device, vk::Memory memory, const void*) {
  if (memory == nullptr) return;
  vkUnmapMemory(device, memory);
  close(memory->fd);
  take(memory);
}

vk::Return vkMapMemory(vk::Device, vk::Memory memory, std::uint64_t offset, std::uint64_t,
                       std::uint32_t, void** out) {
  RAILGAUGE_ENTER;
  if (memory->mapped != nullptr) return vk::kMemoryMapFailed;
  void* mapped = mmap(nullptr, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
  if (mapped == MAP_FAILED) return vk::kMemoryMapFailed;
  memory->mapped = mapped;
  ++vulkan_control().live_handles;
  *out = static_cast<char*>(mapped) + offset;
  return vk::kSuccess;
}

void vkUnmapMemory(vk::Device, vk::Memory memory) {
  if (memory->mapped == nullptr) return;
  munmap(memory->mapped, memory->bytes);
  memory->mapped = nullptr;
  --vulkan_control().live_handles;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// The ways by which a CPU reaches the fake GPUs' memory: all fakes must address the same bytes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernels/core/base/fd.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::gdrapi_control;
using fake::nvml_control;
using fake::vulkan_control;

constexpr std::size_t kBytes = 64U << 10U;
constexpr int kLetter = 'R';

class FakeMapping : public ::testing::Test {
 protected:
  void SetUp() override {
    cuda_control().reset();
    gdrapi_control().reset();
    vulkan_control().reset();
    cuda_ = *bind_cuda(RAILGAUGE_FAKE_LIBCUDA);
    cu::Context context = nullptr;
    ASSERT_EQ(cuda_.primary_ctx_retain(&context, 0), cu::kSuccess);
    ASSERT_EQ(cuda_.ctx_set_current(context), cu::kSuccess);
    ASSERT_EQ(cuda_.mem_alloc(&memory_, 2 * kBytes), cu::kSuccess);
    page_ = (memory_ + kBytes - 1) / kBytes * kBytes;
  }
  void TearDown() override {
    cuda_.mem_free(memory_);
    cuda_.primary_ctx_release(0);
    EXPECT_EQ(cuda_control().live_handles(), 0);
    EXPECT_EQ(gdrapi_control().live_handles, 0);
    EXPECT_EQ(vulkan_control().live_handles, 0);
  }
  // The GPU's bytes at `address`.
  char seen_by_gpu(cu::DevicePtr address) {
    char seen = 0;
    EXPECT_EQ(cuda_.memcpy_dtoh(&seen, address, 1), cu::kSuccess);
    return seen;
  }
  int exported() {
    int fd = -1;
    EXPECT_EQ(
        cuda_.mem_get_handle_for_address_range(&fd, page_, kBytes, cu::kRangeHandleDmaBufFd, 0),
        cu::kSuccess);
    return fd;
  }

  Cuda cuda_;
  cu::DevicePtr memory_ = 0;
  cu::DevicePtr page_ = 0;
};

TEST_F(FakeMapping, AnExportCannotBeMappedByAnOldDriver) {
  const Fd fd(exported());
  EXPECT_EQ(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0), MAP_FAILED);
}

TEST_F(FakeMapping, AnExportThatCanBeMappedIsTheGpusMemory) {
  cuda_control().dmabuf_mmap = 1;
  const Fd fd(exported());
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  static_cast<char*>(mapped)[9] = kLetter;
  EXPECT_EQ(seen_by_gpu(page_ + 9), kLetter);
  munmap(mapped, kBytes);
}

TEST_F(FakeMapping, AnExportBeginsAndEndsOnAPage) {
  int fd = -1;
  EXPECT_NE(
      cuda_.mem_get_handle_for_address_range(&fd, page_ + 1, kBytes, cu::kRangeHandleDmaBufFd, 0),
      cu::kSuccess);
}

TEST_F(FakeMapping, GdrapiMapsTheGpusMemory) {
  const Gdrapi gdrapi = *bind_gdrapi(RAILGAUGE_FAKE_LIBGDRAPI);
  EXPECT_TRUE(gdrapi.synthetic);
  gdr::Session session = gdrapi.open();
  ASSERT_NE(session, nullptr);
  gdr::Pinned pinned;
  EXPECT_EQ(gdrapi.pin_buffer(session, page_ + 4, kBytes, 0, 0, &pinned), EINVAL);
  ASSERT_EQ(gdrapi.pin_buffer(session, page_, kBytes, 0, 0, &pinned), 0);
  void* mapped = nullptr;
  ASSERT_EQ(gdrapi.map(session, pinned, &mapped, kBytes), 0);
  static_cast<char*>(mapped)[3] = kLetter;
  EXPECT_EQ(seen_by_gpu(page_ + 3), kLetter);
  EXPECT_EQ(gdrapi_control().live_handles, 3);
  EXPECT_EQ(gdrapi.unmap(session, pinned, mapped, kBytes), 0);
  EXPECT_EQ(gdrapi.unpin_buffer(session, pinned), 0);
  EXPECT_EQ(gdrapi.close(session), 0);
}

TEST_F(FakeMapping, GdrapiWithoutItsModuleOpensNothing) {
  const Gdrapi gdrapi = *bind_gdrapi(RAILGAUGE_FAKE_LIBGDRAPI);
  gdrapi_control().no_driver = 1;
  EXPECT_EQ(gdrapi.open(), nullptr);
}

// Vulkan memory of one GPU, exported.
struct VulkanMemory {
  vk::Instance instance = nullptr;
  vk::PhysicalDevice gpu = nullptr;
  vk::Device device = nullptr;
  vk::Memory memory = nullptr;
  int fd = -1;
};

VulkanMemory make(const Vulkan& vulkan) {
  VulkanMemory made;
  const vk::InstanceCreateInfo instance;
  EXPECT_EQ(vulkan.create_instance(&instance, nullptr, &made.instance), vk::kSuccess);
  std::uint32_t count = 1;
  EXPECT_EQ(vulkan.enumerate_physical_devices(made.instance, &count, &made.gpu), vk::kIncomplete);
  const vk::DeviceCreateInfo device;
  EXPECT_EQ(vulkan.create_device(made.gpu, &device, nullptr, &made.device), vk::kSuccess);
  vk::MemoryAllocateInfo info;
  info.size = kBytes;
  info.type_index = 2;
  EXPECT_EQ(vulkan.allocate_memory(made.device, &info, nullptr, &made.memory), vk::kSuccess);
  const auto get_fd = reinterpret_cast<vk::GetMemoryFd>(
      vulkan.get_device_proc_addr(made.device, "vkGetMemoryFdKHR"));
  vk::MemoryGetFdInfo export_info;
  export_info.memory = made.memory;
  export_info.handle_type = vk::kExternalOpaqueFd;
  EXPECT_EQ(get_fd(made.device, &export_info, &made.fd), vk::kSuccess);
  return made;
}

void destroy(const Vulkan& vulkan, const VulkanMemory& made) {
  vulkan.free_memory(made.device, made.memory, nullptr);
  vulkan.destroy_device(made.device, nullptr);
  vulkan.destroy_instance(made.instance, nullptr);
}

TEST_F(FakeMapping, WhatVulkanExportsIsWhatCudaImports) {
  const Vulkan vulkan = *bind_vulkan(RAILGAUGE_FAKE_LIBVULKAN);
  EXPECT_TRUE(vulkan.synthetic);
  const VulkanMemory made = make(vulkan);
  cu::ExternalMemoryHandleDesc desc{};
  desc.type = cu::kExternalMemoryOpaqueFd;
  desc.handle.fd = made.fd;
  desc.size = kBytes;
  cu::ExternalMemory imported = nullptr;
  ASSERT_EQ(cuda_.import_external_memory(&imported, &desc), cu::kSuccess);
  cu::ExternalMemoryBufferDesc whole{};
  whole.size = kBytes;
  cu::DevicePtr address = 0;
  ASSERT_EQ(cuda_.external_memory_get_mapped_buffer(&address, imported, &whole), cu::kSuccess);
  void* mapped = nullptr;
  ASSERT_EQ(vulkan.map_memory(made.device, made.memory, 0, vk::kWholeSize, 0, &mapped),
            vk::kSuccess);
  static_cast<char*>(mapped)[5] = kLetter;
  EXPECT_EQ(seen_by_gpu(address + 5), kLetter);
  EXPECT_EQ(cuda_.mem_free(address), cu::kSuccess);
  EXPECT_EQ(cuda_.destroy_external_memory(imported), cu::kSuccess);
  vulkan.unmap_memory(made.device, made.memory);
  destroy(vulkan, made);
}

TEST_F(FakeMapping, VulkanAndCudaNameTheSameGpu) {
  const Vulkan vulkan = *bind_vulkan(RAILGAUGE_FAKE_LIBVULKAN);
  cu::Uuid cuda_uuid{};
  ASSERT_EQ(cuda_.device_get_uuid(&cuda_uuid, 0), cu::kSuccess);
  const VulkanMemory made = make(vulkan);
  const Fd fd(made.fd);
  vk::PhysicalDeviceIdProperties ids;
  vk::PhysicalDeviceProperties2 properties;
  properties.next = &ids;
  vulkan.get_physical_device_properties2(made.gpu, &properties);
  EXPECT_TRUE(std::ranges::equal(ids.device_uuid, cuda_uuid.bytes));
  vulkan_control().other_uuid = 1;
  vulkan.get_physical_device_properties2(made.gpu, &properties);
  EXPECT_FALSE(std::ranges::equal(ids.device_uuid, cuda_uuid.bytes));
  destroy(vulkan, made);
}

TEST_F(FakeMapping, WithoutALargeBarNoMemoryOfTheGpuIsVisible) {
  vulkan_control().no_large_bar = 1;
  vk::MemoryProperties properties;
  bind_vulkan(RAILGAUGE_FAKE_LIBVULKAN)->get_memory_properties(nullptr, &properties);
  for (std::uint32_t i = 0; i < properties.type_count; ++i)
    EXPECT_NE(properties.types[i].flags & (vk::kMemoryDeviceLocal | vk::kMemoryHostVisible),
              vk::kMemoryDeviceLocal | vk::kMemoryHostVisible);
}

TEST(FakeNvml, CountsItsUsersAndAnswersOnlyThem) {
  nvml_control().reset();
  const Nvml nvml = *bind_nvml(RAILGAUGE_FAKE_LIBNVML);
  EXPECT_TRUE(nvml.synthetic);
  unsigned count = 0;
  EXPECT_EQ(nvml.device_get_count(&count), ml::kUninitialized);
  ASSERT_EQ(nvml.init(), ml::kSuccess);
  EXPECT_EQ(nvml.device_get_count(&count), ml::kSuccess);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(nvml_control().live_handles, 1);
  EXPECT_EQ(nvml.shutdown(), ml::kSuccess);
  EXPECT_EQ(nvml_control().live_handles, 0);
}

}  // namespace
}  // namespace railgauge

// A Vulkan loader and driver without hardware: libvulkan-fake.so, loaded through
// RAILGAUGE_LIBVULKAN. Memory is a memfd; libcuda-fake.so imports its exported descriptor, so both
// see the same bytes.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_VULKAN=NAME=VALUE,... with
// the names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct VulkanControl {
  std::atomic<std::uint64_t> calls{0};        // since reset(), of those that can fail
  std::atomic<std::uint64_t> fail_call{0};    // this call fails, once; 0: none
  std::atomic<std::uint64_t> fail_error{3};   // as the negative of this: initialisation failed
  std::atomic<std::int64_t> live_handles{0};  // instances, devices, memory, mappings

  std::atomic<std::uint64_t> instances{0};  // made since reset()
  std::atomic<std::uint64_t> gpus{2};
  std::atomic<std::uint64_t> no_large_bar{0};  // 1: no memory of the GPU is visible to the CPU
  std::atomic<std::uint64_t> other_uuid{0};    // 1: GPUs that CUDA does not know
  std::atomic<std::uint64_t> no_export{0};     // 1: vkGetMemoryFdKHR is missing

  // Resets to the values in RAILGAUGE_FAKE_VULKAN; live handles stay.
  void reset();
};

// Returns the control of the loaded library, one a process.
VulkanControl& vulkan_control();

}  // namespace railgauge::fake

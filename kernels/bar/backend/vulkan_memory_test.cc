#include "kernels/bar/backend/vulkan_memory.h"

#include <gmock/gmock.h>

namespace railgauge::bar {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kLocal = vk::kMemoryDeviceLocal;
constexpr std::uint32_t kVisible = vk::kMemoryHostVisible;
constexpr std::uint32_t kCoherent = vk::kMemoryHostCoherent;
constexpr std::uint32_t kCached = vk::kMemoryHostCached;
constexpr std::uint32_t kAll = 0xffffffff;

// Type i is in heap i.
vk::MemoryProperties memory(const std::vector<std::pair<std::uint32_t, std::uint64_t>>& types) {
  vk::MemoryProperties made;
  for (const auto& [flags, heap_bytes] : types) {
    made.types[made.type_count] = {.flags = flags, .heap_index = made.type_count};
    made.heaps[made.type_count] = {.size = heap_bytes};
    ++made.type_count;
  }
  made.heap_count = made.type_count;
  return made;
}

TEST(PickMemoryType, TakesWhatIsOnTheGpuAndVisible) {
  const auto types =
      memory({{kLocal, 1000}, {kVisible | kCoherent, 1000}, {kLocal | kVisible, 500}});
  EXPECT_EQ(pick_memory_type(types, kAll, 100).value(), 2U);
}

TEST(PickMemoryType, PrefersCoherentThenUncachedThenTheFirst) {
  const auto types = memory({{kLocal | kVisible, 1000},
                             {kLocal | kVisible | kCoherent | kCached, 1000},
                             {kLocal | kVisible | kCoherent, 1000},
                             {kLocal | kVisible | kCoherent, 1000}});
  EXPECT_EQ(pick_memory_type(types, kAll, 100).value(), 2U);
  EXPECT_EQ(pick_memory_type(types, 0b0011, 100).value(), 1U);
}

TEST(PickMemoryType, TakesNoTypeThatTheBufferCannotHave) {
  const auto types = memory({{kLocal | kVisible, 1000}});
  EXPECT_FALSE(pick_memory_type(types, 0b10, 100));
}

TEST(PickMemoryType, SaysHowMuchTheCpuSeesWhenItsHeapIsSmaller) {
  const auto types = memory({{kLocal, 1U << 30U}, {kLocal | kVisible | kCoherent, 256U << 20U}});
  const auto picked = pick_memory_type(types, kAll, 512U << 20U);
  ASSERT_FALSE(picked);
  EXPECT_EQ(picked.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(picked.error().message,
              HasSubstr("the CPU sees 256MiB of the GPU's memory, 512MiB are asked for: no large "
                        "BAR"));
}

TEST(PickMemoryType, WaivesWhereTheCpuSeesNothingOfTheGpu) {
  const auto picked = pick_memory_type(memory({{kLocal, 1000}, {kVisible, 1000}}), kAll, 100);
  ASSERT_FALSE(picked);
  EXPECT_EQ(picked.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(picked.error().message, HasSubstr("no large BAR; turn on resizable BAR"));
}

}  // namespace
}  // namespace railgauge::bar

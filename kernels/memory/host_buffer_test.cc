#include "kernels/memory/host_buffer.h"

#include <gmock/gmock.h>

#include <vector>

namespace railgauge {
namespace {

TEST(HostBuffer, IsPageAlignedRoundedUpAndZero) {
  const auto buffer = HostBuffer::allocate(page_bytes() + 1);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % page_bytes(), 0U);
  EXPECT_EQ(buffer->size(), 2 * page_bytes());
  for (const std::byte byte : buffer->span()) ASSERT_EQ(byte, std::byte{0});
}

TEST(HostBuffer, SaysHowMuchWasAskedForWhenThereIsNoMemory) {
  const auto buffer = HostBuffer::allocate(std::size_t{1} << 60U);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Code::kResourceExhausted);
  EXPECT_THAT(
      buffer.error().message,
      ::testing::StartsWith("host memory: allocate 1152921504606846976 bytes: the machine has "));
}

class Pattern : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Pattern, HoldsForEveryByteOfEverySize) {
  std::vector<std::byte> bytes(GetParam());
  fill_pattern(bytes, 7);
  EXPECT_FALSE(find_mismatch(bytes, 7));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    const auto mismatch = find_mismatch(bytes, 7);
    ASSERT_TRUE(mismatch) << i;
    EXPECT_EQ(mismatch->offset, i);
    EXPECT_EQ(mismatch->expected ^ mismatch->seen, 1);
    bytes[i] ^= std::byte{1};
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, Pattern, ::testing::Values(1, 2, 7, 8, 9, 63, 64, 257));

TEST(Pattern, DiffersBetweenSeedsAndDoesNotRepeat) {
  std::vector<std::byte> bytes(64);
  fill_pattern(bytes, 1);
  EXPECT_TRUE(find_mismatch(bytes, 2));
  std::vector<std::byte> shifted(bytes.begin() + 8, bytes.end());
  EXPECT_TRUE(find_mismatch(shifted, 1));
}

}  // namespace
}  // namespace railgauge

#include "kernels/cuda/route/kits.h"

#include <gtest/gtest.h>

namespace railgauge::cuda {
namespace {

// Ten bytes of the target's own, with the slots [2, 4) and [6, 8) written.
class WrittenSlots : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      const bool in_slot = (i >= 2 && i < 4) || (i >= 6 && i < 8);
      seen_[i] = in_slot ? written_[i] : base_[i];
    }
  }
  [[nodiscard]] std::optional<Mismatch> difference() const {
    return first_difference(seen_, base_, written_, std::vector<std::uint64_t>{2, 6}, 2);
  }

  std::vector<std::byte> base_ = std::vector<std::byte>(10, std::byte{1});
  std::vector<std::byte> written_ = std::vector<std::byte>(10, std::byte{2});
  std::vector<std::byte> seen_ = std::vector<std::byte>(10);
};

TEST_F(WrittenSlots, AreAllRight) { EXPECT_FALSE(difference()); }

TEST_F(WrittenSlots, ShowEveryByteThatDidNotArriveOrWentElsewhere) {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const std::byte before = seen_[i];
    seen_[i] = before == std::byte{1} ? std::byte{2} : std::byte{1};
    ASSERT_TRUE(difference());
    EXPECT_EQ(difference()->offset, i);
    EXPECT_EQ(difference()->seen, std::to_integer<int>(seen_[i]));
    EXPECT_EQ(difference()->expected, std::to_integer<int>(before));
    seen_[i] = before;
  }
}

TEST_F(WrittenSlots, MayBeNone) {
  EXPECT_FALSE(first_difference(base_, base_, written_, {}, 2));
  EXPECT_TRUE(first_difference(written_, base_, written_, {}, 2));
}

}  // namespace
}  // namespace railgauge::cuda

#include "kernels/core/base/handle.h"

#include <fcntl.h>

#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/core/base/fd.h"

namespace railgauge {
namespace {

struct CountingTraits {
  using Type = int;
  static Type empty() { return 0; }
  static void release(Type raw) { released.push_back(raw); }
  static inline std::vector<int> released;
};
using Counting = Handle<CountingTraits>;

class HandleTest : public testing::Test {
 protected:
  void SetUp() override { CountingTraits::released.clear(); }
  using Numbers = std::vector<int>;
};

TEST_F(HandleTest, IsAsLargeAsTheHandleAndCannotBeCopied) {
  static_assert(sizeof(Counting) == sizeof(int));
  static_assert(!std::is_copy_constructible_v<Counting> && !std::is_copy_assignable_v<Counting>);
  static_assert(std::is_nothrow_move_constructible_v<Counting>);
  EXPECT_FALSE(Counting());
  EXPECT_TRUE(Counting(3));
}

TEST_F(HandleTest, ReleasesOnceAtTheEnd) {
  {
    const Counting one(7);
    const Counting empty;
  }
  EXPECT_EQ(CountingTraits::released, Numbers{7});
}

TEST_F(HandleTest, MovingHandsOverAndReleasesWhatStoodThere) {
  Counting a(1);
  Counting b(std::move(a));
  EXPECT_EQ(b.get(), 1);
  Counting c(2);
  c = std::move(b);
  EXPECT_EQ(CountingTraits::released, Numbers{2});
  Counting& same = c;
  c = std::move(same);
  EXPECT_EQ(c.get(), 1) << "moving onto itself changes nothing";
  EXPECT_EQ(CountingTraits::released, Numbers{2});
}

TEST_F(HandleTest, ReleaseGivesAwayAndResetReplaces) {
  Counting a(1);
  EXPECT_EQ(a.release(), 1);
  EXPECT_FALSE(a);
  a.reset(2);
  a.reset(3);
  EXPECT_EQ(CountingTraits::released, Numbers{2});
  a.reset();
  EXPECT_EQ(CountingTraits::released, (Numbers{2, 3}));
}

TEST(FdTest, ClosesItsDescriptorAndKnowsThatZeroIsOne) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  { const Fd fd(raw); }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  Fd zero(0);
  EXPECT_TRUE(zero);
  EXPECT_EQ(zero.release(), 0);
  EXPECT_FALSE(Fd());
}

TEST(FdDeathTest, ClosingAStrangersNumberStopsTheProcess) {
  EXPECT_DEATH(Fd(1'000'000), "CHECK failed");
}

}  // namespace
}  // namespace railgauge

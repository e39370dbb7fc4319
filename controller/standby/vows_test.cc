#include "controller/standby/vows.h"

#include <gtest/gtest.h>

namespace railgauge::standby {
namespace {

TEST(Vows, KeepOneFromTakingUntilTheirEnd) {
  Vows vows(10);
  int asked = 0;
  const auto take = [&](double now) { vows.take_if_free(now, [&] { return ++asked, 0; }); };
  take(9.9);
  EXPECT_EQ(asked, 0);
  take(10);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(vows.promise(3, 5, 11));
  take(15.9);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(vows.promise(3, 1, 12)) << "a shorter promise takes nothing back";
  take(15.9);
  EXPECT_EQ(asked, 1);
  take(16);
  EXPECT_EQ(asked, 2);
}

TEST(Vows, AreNotGivenToWhoeverWasDeposed) {
  Vows vows(0);
  vows.see(4);
  EXPECT_FALSE(vows.promise(3, 5, 1));
  EXPECT_TRUE(vows.promise(4, 5, 1));
  vows.take_if_free(7, [] { return 5; });
  EXPECT_FALSE(vows.promise(4, 5, 8));
  EXPECT_EQ(vows.seen(), 5);
}

}  // namespace
}  // namespace railgauge::standby

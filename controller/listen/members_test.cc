#include "controller/listen/members.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr uid_t kNobodysUid = 4'000'000'000;

TEST(Members, WhoLeftIsNoneAfterAMinuteAndWhoComesBackIsOneAtOnce) {
  bool is_in = true;
  int look_ups = 0;
  Members members([&](const std::string&) {
    ++look_ups;
    return is_in;
  });
  EXPECT_TRUE(members.has("ann", 100));
  is_in = false;
  EXPECT_TRUE(members.has("ann", 100 + Members::kKeptSeconds - 1));
  EXPECT_EQ(look_ups, 1);
  EXPECT_FALSE(members.has("bob", 101)) << "each has a look-up of their own";
  EXPECT_FALSE(members.has("ann", 100 + Members::kKeptSeconds));
  is_in = true;
  EXPECT_TRUE(members.has("ann", 101 + Members::kKeptSeconds));
}

TEST(IsMemberNow, OfRootTheControllersOwnUserAndTheGroupAlone) {
  EXPECT_TRUE(is_member_now("root", kNobodysUid, std::nullopt));
  EXPECT_FALSE(is_member_now("daemon", kNobodysUid, std::nullopt));
  EXPECT_TRUE(is_member_now("daemon", 1, std::nullopt)) << "its uid is the controller's";
  EXPECT_TRUE(is_member_now("daemon", kNobodysUid, 1)) << "the group that it has";
  EXPECT_FALSE(is_member_now("daemon", kNobodysUid, 2));
  EXPECT_FALSE(is_member_now("no such user", kNobodysUid, 1));
  EXPECT_FALSE(is_member_now("uid 12", kNobodysUid, std::nullopt));
}

}  // namespace
}  // namespace railgauge

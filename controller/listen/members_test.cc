#include "controller/listen/members.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr uid_t kNobodysUid = 4'000'000'000;

TEST(Members, WhoLeftIsNoneAfterAMinuteAndWhoComesBackIsOneAtOnce) {
  Membership answer = Membership::kMember;
  int look_ups = 0;
  Members members([&](const std::string&) {
    ++look_ups;
    return answer;
  });
  EXPECT_EQ(members.of("ann", 100), Membership::kMember);
  answer = Membership::kStranger;
  EXPECT_EQ(members.of("ann", 100 + Members::kKeptSeconds - 1), Membership::kMember);
  EXPECT_EQ(look_ups, 1);
  EXPECT_EQ(members.of("bob", 101), Membership::kStranger) << "each has a look-up of their own";
  EXPECT_EQ(members.of("ann", 100 + Members::kKeptSeconds), Membership::kStranger);
  answer = Membership::kMember;
  EXPECT_EQ(members.of("ann", 101 + Members::kKeptSeconds), Membership::kMember);
}

TEST(Members, ADatabaseThatDoesNotAnswerShutsNobodyOutForAQuarterOfAnHour) {
  Membership answer = Membership::kMember;
  Members members([&](const std::string&) { return answer; });
  EXPECT_EQ(members.of("ann", 100), Membership::kMember);
  answer = Membership::kUnknown;
  EXPECT_EQ(members.of("bob", 101), Membership::kUnknown) << "nobody has seen him";
  EXPECT_EQ(members.of("ann", 100 + Members::kFailedSeconds - 1), Membership::kMember);
  EXPECT_EQ(members.of("ann", 100 + Members::kFailedSeconds), Membership::kUnknown);
  answer = Membership::kStranger;
  EXPECT_EQ(members.of("ann", 200 + Members::kFailedSeconds), Membership::kStranger);
  answer = Membership::kUnknown;
  EXPECT_EQ(members.of("ann", 201 + Members::kFailedSeconds), Membership::kUnknown)
      << "the answer before was that she had left";
}

TEST(MembershipOf, RootTheControllersOwnUserAndTheGroupAlone) {
  const auto is_member = [](const std::string& user, uid_t own, std::optional<gid_t> group) {
    return membership_of(user, own, group) == Membership::kMember;
  };
  EXPECT_TRUE(is_member("root", kNobodysUid, std::nullopt));
  EXPECT_FALSE(is_member("daemon", kNobodysUid, std::nullopt));
  EXPECT_TRUE(is_member("daemon", 1, std::nullopt)) << "its uid is the controller's";
  EXPECT_TRUE(is_member("daemon", kNobodysUid, 1)) << "the group that it has";
  EXPECT_FALSE(is_member("daemon", kNobodysUid, 2));
  EXPECT_EQ(membership_of("no such user", kNobodysUid, 1), Membership::kStranger);
  EXPECT_EQ(membership_of("uid 12", kNobodysUid, std::nullopt), Membership::kStranger);
  EXPECT_TRUE(is_member("uid 4000000000", kNobodysUid, std::nullopt))
      << "a controller whose user has no name";
}

// sssd, say, may be away while /etc/passwd is read: lists of groups then lack those of sssd.
TEST(MembershipOf, AGroupThatTheDatabaseDoesNotKnowNowMakesNobodyAStranger) {
  constexpr gid_t kAway = 3'999'999'999;
  EXPECT_EQ(membership_of("daemon", kNobodysUid, kAway), Membership::kUnknown);
  EXPECT_EQ(membership_of("no such user", kNobodysUid, kAway), Membership::kUnknown);
  EXPECT_EQ(membership_of("root", kNobodysUid, kAway), Membership::kMember);
}

}  // namespace
}  // namespace railgauge

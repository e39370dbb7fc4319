#include "controller/fleet/auth.h"

#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::auth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PeerCredentials, RootTheOwnUserAndTheGroupMayConnectAndNobodyElse) {
  constexpr uid_t kOwn = 500;
  constexpr gid_t kGroup = 70;
  EXPECT_TRUE(may_connect({.uid = 0}, kOwn, std::nullopt));
  EXPECT_TRUE(may_connect({.uid = kOwn, .gid = 1}, kOwn, std::nullopt));
  EXPECT_FALSE(may_connect({.uid = 501, .gid = kGroup}, kOwn, std::nullopt));
  EXPECT_TRUE(may_connect({.uid = 501, .gid = kGroup}, kOwn, kGroup));
  EXPECT_TRUE(may_connect({.uid = 501, .gid = 1, .groups = {2, kGroup}}, kOwn, kGroup));
  EXPECT_FALSE(may_connect({.uid = 501, .gid = 1, .groups = {2, 3}}, kOwn, kGroup));
}

TEST(PeerCredentials, OfARealSocketAreThisProcesss) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const auto peer = credentials_of(pair[0]);
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST(PeerCredentials, ADescriptorThatIsNoSocketHasNone) { EXPECT_FALSE(credentials_of(-1)); }

TEST(Subject, IsReadWithItsEscapes) {
  const Subject plain = parse_subject("CN=n1,OU=agent,O=Railgauge");
  EXPECT_THAT(plain.common_names, ElementsAre("n1"));
  EXPECT_THAT(plain.units, ElementsAre("agent"));
  const Subject escaped = parse_subject("CN=a\\,OU\\=operator,OU=agent");
  EXPECT_THAT(escaped.common_names, ElementsAre("a,OU=operator"));
  EXPECT_THAT(escaped.units, ElementsAre("agent"));
  EXPECT_THAT(parse_subject("CN=a\\2COU=viewer+OU=agent").common_names, ElementsAre("a,OU=viewer"));
  EXPECT_THAT(parse_subject("").units, ElementsAre());
  EXPECT_THAT(parse_subject("OU").units, ElementsAre());
}

TEST(Subject, OnlyOneKnownUnitIsARole) {
  EXPECT_EQ(role_of({.units = {"agent"}}), Role::kAgent);
  EXPECT_EQ(role_of({.units = {"operator"}}), Role::kOperator);
  EXPECT_EQ(role_of({.units = {"viewer"}}), Role::kViewer);
  EXPECT_EQ(role_of({.units = {"Agent"}}), Role::kNone);
  EXPECT_EQ(role_of({.units = {"agent", "operator"}}), Role::kNone);
  EXPECT_EQ(role_of({}), Role::kNone);
}

TEST(Rights, FollowTheRole) {
  const Peer agent{.role = Role::kAgent, .who = "n1", .common_name = "n1"};
  const Peer viewer{.role = Role::kViewer, .who = "ann", .common_name = "ann"};
  const Peer operator_{.role = Role::kOperator, .who = "bob", .common_name = "bob"};
  const Peer stranger{.role = Role::kNone, .who = "x", .common_name = "x"};
  EXPECT_TRUE(may_control(operator_, false));
  EXPECT_TRUE(may_control(viewer, true));
  EXPECT_FALSE(may_control(viewer, false));
  EXPECT_FALSE(may_control(agent, true));
  EXPECT_FALSE(may_control(stranger, true));
  EXPECT_TRUE(may_speak_for(agent, "n1"));
  EXPECT_FALSE(may_speak_for(agent, "n2"));
  EXPECT_FALSE(may_speak_for(operator_, "bob"));
  EXPECT_TRUE(may_speak_for({.role = Role::kAny, .who = "root"}, "n2"));
  EXPECT_THAT(may_speak_for(agent, "n2").error().message, HasSubstr("cannot speak for node n2"));
  EXPECT_THAT(may_control(viewer, false).error().message, HasSubstr("needs OU=operator"));
}

}  // namespace
}  // namespace railgauge::auth

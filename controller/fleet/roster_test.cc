#include "controller/fleet/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/contract.h"

namespace railgauge::fleet {
namespace {

using api::check_contract;
using api::to_message;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Contract, OneMinorVersionApartWorksTogether) {
  EXPECT_TRUE(check_contract(to_message({1, 4}), {1, 5}));
  EXPECT_TRUE(check_contract(to_message({1, 6}), {1, 5}));
  EXPECT_TRUE(check_contract(to_message({1, 5}), {1, 5}));
}

// The agent's view of the same rule.
TEST(Contract, BothSidesHoldTheSameVersionsToMatch) {
  EXPECT_TRUE(api::contracts_match(to_message({1, 5}), {1, 4}));
  EXPECT_FALSE(api::contracts_match(to_message({1, 6}), {1, 4}));
  EXPECT_FALSE(api::contracts_match(to_message({2, 4}), {1, 4}));
  EXPECT_TRUE(api::contracts_match(to_message(api::kContract)));
}

TEST(Contract, FurtherApartIsRefusedNamingBoth) {
  const Status older = check_contract(to_message({1, 3}), {1, 5});
  ASSERT_FALSE(older);
  EXPECT_THAT(older.error().message, HasSubstr("contract 1.3, the controller 1.5"));
  EXPECT_THAT(older.error().message, HasSubstr("upgrade the agent"));
  const Status newer = check_contract(to_message({2, 5}), {1, 5});
  ASSERT_FALSE(newer);
  EXPECT_THAT(newer.error().message, HasSubstr("upgrade the controller"));
}

TEST(Roster, TheSameAgentAgainResumesAndReplacesItsOldStream) {
  Roster roster;
  EXPECT_EQ(roster.attach(1, "n1", "id", "a", 0)->arrival, Roster::Arrival::kNew);
  const auto again = roster.attach(2, "n1", "id", "a", 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->arrival, Roster::Arrival::kResumed);
  EXPECT_EQ(again->replaced, 1U);
  EXPECT_EQ(roster.detach(1, 2), std::nullopt);  // the old stream's end changes nothing
  EXPECT_EQ(roster.find("n1")->presence, NodePresence::kAttached);
}

TEST(Roster, AnotherProcessOfTheNodeIsARestart) {
  Roster roster;
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  EXPECT_EQ(roster.detach(1, 1), "n1");
  EXPECT_EQ(roster.attach(2, "n1", "id", "b", 2)->arrival, Roster::Arrival::kRestarted);
}

TEST(Roster, AnotherIdUnderATakenNameIsRefusedUntilTheHolderIsLost) {
  Roster roster({.silence_seconds = 12, .grace_seconds = 10});
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  const auto other = roster.attach(2, "n1", "other", "x", 1);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kAlreadyExists);
  EXPECT_THAT(other.error().message, HasSubstr("n1 is held by node id id, so id other"));
  roster.detach(1, 1);
  EXPECT_FALSE(roster.attach(3, "n1", "other", "x", 5));
  EXPECT_THAT(roster.expire(11).lost, ElementsAre("n1"));
  EXPECT_EQ(roster.attach(4, "n1", "other", "x", 12)->arrival, Roster::Arrival::kNew);
}

TEST(Roster, ARecalledNameIsHeldForItsNodeAndThenGivenUpInSilence) {
  Roster roster({.grace_seconds = 10, .recall_seconds = 60});
  roster.recall("n1", "id", 0);
  const auto other = roster.attach(1, "n1", "other", "x", 59);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("n1 is held by node id id, so id other"));
  EXPECT_THAT(roster.expire(59).lost, IsEmpty());
  EXPECT_THAT(roster.expire(60).lost, IsEmpty()) << "it was not here to be lost";
  EXPECT_EQ(roster.attach(2, "n1", "other", "x", 61)->arrival, Roster::Arrival::kNew);
}

TEST(Roster, ARecalledNodeThatComesIsNew) {
  Roster roster;
  roster.recall("n1", "id", 0);
  EXPECT_EQ(roster.attach(1, "n1", "id", "a", 1)->arrival, Roster::Arrival::kNew);
  EXPECT_EQ(roster.attach(2, "n1", "id", "a", 2)->arrival, Roster::Arrival::kResumed);
}

TEST(Roster, SilenceEndsAStreamAndGraceThenTheNode) {
  Roster roster({.silence_seconds = 12, .grace_seconds = 10});
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  roster.seen(1, 5);
  EXPECT_THAT(roster.expire(16.9).silent, IsEmpty());
  EXPECT_THAT(roster.expire(17).silent, ElementsAre(1));
  roster.detach(1, 17);
  EXPECT_THAT(roster.expire(26.9).lost, IsEmpty());
  EXPECT_THAT(roster.expire(27).lost, ElementsAre("n1"));
  EXPECT_THAT(roster.expire(28).lost, IsEmpty());
}

}  // namespace
}  // namespace railgauge::fleet

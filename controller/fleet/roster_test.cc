#include "controller/fleet/roster.h"

#include <map>
#include <random>
#include <string>

#include <fmt/format.h>
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

// --- whom an id belongs to -----------------------------------------------------------------------

// Refused with that code; the roster is as it was.
void expect_refused(const Result<Roster::Attached>& attached, Code code) {
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, code) << attached.error().message;
}

// Each node by itself, by the times that the roster shows.
TEST(Roster, ATickThatHasNothingToDoDelaysNoEnd) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same order each time
  const auto below = [&](unsigned most) { return random() % most; };
  constexpr unsigned kNodes = 5;
  for (int round = 0; round < 200; ++round) {
    Roster asked;
    std::map<std::string, Roster::Node> before;
    Session next = 1;
    for (double now = 0; now < 60; now += 0.25) {
      const std::string name = fmt::format("n{}", below(kNodes));
      const Roster::Node* node = asked.find(name);
      const bool is_here = node != nullptr && node->presence == NodePresence::kAttached;
      switch (below(12)) {
        case 0:
          ASSERT_TRUE(asked.attach(next++, name, "id-" + name, "a", now));
          break;
        case 1:
          if (is_here) asked.detach(node->session, now);
          break;
        case 2:
          if (node == nullptr) asked.recall(name, "id-" + name, now);
          break;
        default:
          if (is_here && below(3) == 0) asked.seen(node->session, now - 0.25);
      }
      before = asked.nodes();
      const auto expired = asked.expire(now);
      std::vector<Session> silent;
      std::vector<std::string> lost;
      for (const auto& [each, was] : before) {
        const bool recalled = was.incarnation.empty();
        if (was.presence == NodePresence::kAttached && now >= was.last_seen + 12)
          silent.push_back(was.session);
        if (was.presence == NodePresence::kDetached && !recalled && now >= was.since + 10)
          lost.push_back(each);
      }
      ASSERT_EQ(expired.silent, silent) << round << " at " << now;
      ASSERT_EQ(expired.lost, lost) << round << " at " << now;
      for (const Session session : silent) asked.detach(session, now);
    }
  }
}

TEST(Identity, AKnownIdUnderAnotherNameIsRefusedWithTheCureAndItsNodeStays) {
  Roster roster;
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  const auto clone = roster.attach(2, "n2", "id", "b", 1);
  expect_refused(clone, Code::kAlreadyExists);
  EXPECT_THAT(clone.error().message, HasSubstr("node id id belongs to node n1"));
  EXPECT_THAT(clone.error().message,
              HasSubstr("its state folder was copied: delete agent-node-id"));
  EXPECT_THAT(clone.error().message, HasSubstr("railgauge nodes rename n1 n2"));
  EXPECT_EQ(roster.find("n1")->session, 1U);
  EXPECT_EQ(roster.find("n2"), nullptr);
}

TEST(Identity, HoweverLongItsOwnerIsGone) {
  Roster roster({.grace_seconds = 10});
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  roster.detach(1, 1);
  expect_refused(roster.attach(2, "n2", "id", "b", 2), Code::kAlreadyExists);
  EXPECT_THAT(roster.expire(1e6).lost, ElementsAre("n1"));
  expect_refused(roster.attach(3, "n2", "id", "b", 1e6), Code::kAlreadyExists);
  Roster restarted;
  restarted.recall("n1", "id", 0);
  expect_refused(restarted.attach(1, "n2", "id", "b", 1e6), Code::kAlreadyExists);
  EXPECT_TRUE(restarted.attach(2, "n1", "id", "a", 1e6));
}

TEST(Identity, AnotherCertificateIsNoPermissionWhateverNameItSays) {
  Roster roster;
  ASSERT_TRUE(roster.attach(1, "n2", "id-2", "a", 0, "n2"));
  expect_refused(roster.attach(2, "n1", "id-2", "b", 1, "n1"), Code::kPermissionDenied);
  expect_refused(roster.attach(3, "n2", "id-2", "b", 1, "n1"), Code::kPermissionDenied);
  EXPECT_EQ(roster.find("n2")->session, 1U);
  roster.recall("n3", "id-3", 0, "n3");
  expect_refused(roster.attach(4, "n1", "id-3", "b", 1, "n1"), Code::kPermissionDenied);
  roster.recall("n4", "id-4", 0);  // of a database that knew no certificates
  expect_refused(roster.attach(5, "n1", "id-4", "b", 1, "n1"), Code::kPermissionDenied);
}

TEST(Identity, RestartReinstallAndTheSocketKeepWorking) {
  Roster roster({.grace_seconds = 10});
  roster.recall("n1", "id", 0);  // not bound yet
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 1, "n1"));
  ASSERT_TRUE(roster.attach(2, "n1", "id", "b", 2, "n1")) << "a renewed certificate: same node";
  roster.detach(2, 3);
  ASSERT_TRUE(roster.attach(3, "n1", "id", "c", 4)) << "through the socket, without a certificate";
  expect_refused(roster.attach(4, "n1", "fresh", "d", 5, "n1"), Code::kAlreadyExists);
  roster.detach(3, 6);
  EXPECT_THAT(roster.expire(17).lost, ElementsAre("n1"));
  ASSERT_TRUE(roster.attach(5, "n1", "fresh", "d", 18, "n1")) << "reinstalled";
  expect_refused(roster.attach(6, "n1", "id", "c", 19, "n1"), Code::kAlreadyExists);
}

// Two machines with one state folder and one name would else take turns for ever.
TEST(Identity, AProcessThatAnotherReplacedDoesNotComeBackWhileThatOneIsThere) {
  Roster roster({.grace_seconds = 10});
  ASSERT_TRUE(roster.attach(1, "n1", "id", "original", 0));
  ASSERT_TRUE(roster.attach(2, "n1", "id", "clone", 1));
  const auto back = roster.attach(3, "n1", "id", "original", 2);
  expect_refused(back, Code::kAlreadyExists);
  EXPECT_THAT(back.error().message, HasSubstr("two agents take turns as node n1"));
  EXPECT_THAT(back.error().message, HasSubstr("its state folder was copied"));
  EXPECT_EQ(roster.find("n1")->session, 2U);
  ASSERT_TRUE(roster.attach(4, "n1", "id", "clone", 3)) << "its reconnect is none";
  roster.detach(4, 4);
  roster.expire(15);
  EXPECT_TRUE(roster.attach(5, "n1", "id", "original", 16)) << "the other is lost";
}

TEST(Identity, ARestartAfterTheStreamEndedIsNoTurn) {
  Roster roster;
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0));
  roster.detach(1, 1);
  ASSERT_TRUE(roster.attach(2, "n1", "id", "b", 2));
  roster.detach(2, 3);
  EXPECT_TRUE(roster.attach(3, "n1", "id", "a", 4)) << "nobody was replaced";
}

TEST(Rename, TheIdKeepsItsPastAndTakesTheNewNameAndCertificate) {
  Roster roster;
  ASSERT_TRUE(roster.attach(1, "n1", "id", "a", 0, "n1"));
  const auto live = roster.begin_rename("n1", "m1");
  ASSERT_FALSE(live);
  EXPECT_EQ(live.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(live.error().message, HasSubstr("it is attached under this name"));
  roster.detach(1, 1);
  ASSERT_EQ(*roster.begin_rename("n1", "m1"), "id");
  expect_refused(roster.attach(2, "n1", "id", "a", 2, "n1"), Code::kUnavailable);
  expect_refused(roster.attach(3, "m1", "other", "x", 2, "m1"), Code::kUnavailable);
  EXPECT_EQ(roster.begin_rename("n1", "m2").error().code, Code::kUnavailable);
  roster.end_rename("id", "m1", true, 3);
  expect_refused(roster.attach(4, "n1", "id", "a", 4, "n1"), Code::kPermissionDenied);
  ASSERT_TRUE(roster.attach(5, "m1", "id", "b", 5, "m1"));
  EXPECT_EQ(roster.find("n1"), nullptr);
  EXPECT_TRUE(roster.attach(6, "n1", "new", "x", 6, "n1")) << "the old name is free";
}

TEST(Rename, WhatIsNotStoredDidNotHappen) {
  Roster roster;
  roster.recall("n1", "id", 0);
  ASSERT_TRUE(roster.begin_rename("n1", "m1"));
  roster.end_rename("id", "m1", false, 1);
  EXPECT_TRUE(roster.attach(1, "n1", "id", "a", 2));
}

TEST(Rename, ATakenNameIsRefusedAlsoWhenItsNodeIsGone) {
  Roster roster({.recall_seconds = 1});
  roster.recall("n1", "id-1", 0);
  roster.recall("n2", "id-2", 0);
  roster.expire(100);
  const auto taken = roster.begin_rename("n1", "n2");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Code::kAlreadyExists);
  EXPECT_THAT(taken.error().message, HasSubstr("the name n2 belongs to node id id-2"));
  EXPECT_EQ(roster.begin_rename("n9", "m9").error().code, Code::kNotFound);
}

// Whatever clones, restarts and losses do: an id never has two names, a name never two live ids,
// and a certificate never speaks for another node.
TEST(Identity, NoOrderOfHellosGivesOneIdTwoNames) {
  std::mt19937 random(23);
  const auto pick = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  Roster roster({.silence_seconds = 12, .grace_seconds = 10});
  std::map<std::string, std::string> name_of;
  double now = 0;
  for (Session session = 1; session < 20'000; ++session) {
    now += pick(4);
    const std::string name = fmt::format("n{}", pick(4));
    const std::string id = fmt::format("id{}", pick(4));
    // The certificate of an unknown id is checked before: it speaks for the name.
    const std::string certificate = pick(2) == 0           ? ""
                                    : name_of.contains(id) ? fmt::format("n{}", pick(4))
                                                           : name;
    const auto attached =
        roster.attach(session, name, id, fmt::format("p{}", pick(6)), now, certificate);
    if (attached) {
      ASSERT_EQ(name_of.try_emplace(id, name).first->second, name) << id;
      ASSERT_TRUE(certificate.empty() || certificate == name);
    }
    if (pick(3) == 0) roster.detach(session - pick(3), now);
    for (const Session silent : roster.expire(now).silent) roster.detach(silent, now);
    std::map<std::string, int> live;
    for (const auto& [held, node] : roster.nodes())
      if (node.presence != NodePresence::kLost) ++live[node.node_id];
    for (const auto& [node_id, count] : live) ASSERT_EQ(count, 1) << node_id;
  }
  EXPECT_GT(name_of.size(), 2U);
}

}  // namespace
}  // namespace railgauge::fleet

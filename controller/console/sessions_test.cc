#include "controller/console/sessions.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

constexpr double kNow = 1'000'000;

TEST(Sessions, ATicketIsGoodOnce) {
  Sessions sessions;
  const std::string ticket = sessions.issue({.who = "ann", .role = "viewer"}, kNow);
  const auto secret = sessions.redeem(ticket, kNow + 1);
  ASSERT_TRUE(secret);
  EXPECT_FALSE(sessions.redeem(ticket, kNow + 2));
  const auto session = sessions.find(*secret, kNow + 3);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->visitor.who, "ann");
  EXPECT_FALSE(sessions.find(ticket, kNow + 3)) << "the URL's text is no secret of a session";
}

TEST(Sessions, ATicketEndsAndAnUnknownOneIsNone) {
  Sessions sessions;
  const std::string ticket = sessions.issue({}, kNow);
  EXPECT_FALSE(sessions.redeem(ticket, kNow + Sessions::kTicketSeconds));
  EXPECT_FALSE(sessions.redeem("", kNow));
}

// A page that is left open reads by itself.
TEST(Sessions, ReadingsThatNobodyAskedForProlongNothing) {
  Sessions sessions;
  const auto secret = sessions.redeem(sessions.issue({}, kNow), kNow);
  for (double after = 0; after < Sessions::kIdleSeconds; after += 60)
    ASSERT_TRUE(sessions.find(*secret, kNow + after, false)) << after;
  EXPECT_FALSE(sessions.find(*secret, kNow + Sessions::kIdleSeconds, false));
}

TEST(Sessions, ASessionEndsWhenItIsIdleAndWhenItIsOld) {
  Sessions sessions;
  const auto idle = sessions.redeem(sessions.issue({}, kNow), kNow);
  EXPECT_FALSE(sessions.find(*idle, kNow + Sessions::kIdleSeconds));
  const auto busy = sessions.redeem(sessions.issue({}, kNow), kNow);
  double now = kNow;
  for (; now < kNow + Sessions::kLongestSeconds; now += Sessions::kIdleSeconds / 2)
    ASSERT_TRUE(sessions.find(*busy, now)) << now - kNow;
  EXPECT_FALSE(sessions.find(*busy, now + 1));
}

TEST(Sessions, AnEndedSessionIsGone) {
  Sessions sessions;
  const auto secret = sessions.redeem(sessions.issue({}, kNow), kNow);
  sessions.end(*secret);
  EXPECT_FALSE(sessions.find(*secret, kNow));
}

TEST(Sessions, EachHasATokenOfItsOwnAndSoHasACertificate) {
  Sessions sessions;
  const auto token = [&](const std::string& secret) { return sessions.find(secret, kNow)->token; };
  const auto a = sessions.redeem(sessions.issue({}, kNow), kNow);
  const auto b = sessions.redeem(sessions.issue({}, kNow), kNow);
  EXPECT_EQ(token(*a), token(*a));
  EXPECT_NE(token(*a), token(*b));
  EXPECT_NE(token(*a), *a) << "one opens reading, the other acting";
  const Visitor ann{.who = "ann", .issuer = "ca", .serial = "1"};
  Visitor renewed = ann;
  renewed.serial = "2";
  EXPECT_EQ(sessions.token_of(ann, kNow), sessions.token_of(ann, kNow + 1));
  EXPECT_NE(sessions.token_of(ann, kNow), sessions.token_of(renewed, kNow));
}

TEST(Sessions, AskingWhetherOneHoldsProlongsNone) {
  Sessions sessions;
  const auto secret = sessions.redeem(sessions.issue({}, kNow), kNow);
  EXPECT_TRUE(sessions.holds(*secret, kNow + Sessions::kIdleSeconds - 1));
  EXPECT_FALSE(sessions.holds(*secret, kNow + Sessions::kIdleSeconds));
  EXPECT_FALSE(sessions.holds("no", kNow));
}

TEST(Sessions, TheirNumberIsBoundedAndTheNewestStay) {
  Sessions sessions;
  std::set<std::string> secrets;
  std::string first;
  std::string last;
  for (std::size_t i = 0; i < Sessions::kMostSessions + 5; ++i) {
    const std::string ticket = sessions.issue({.who = std::to_string(i)}, kNow + double(i));
    last = *sessions.redeem(ticket, kNow + double(i));
    if (first.empty()) first = last;
    secrets.insert(last);
  }
  EXPECT_EQ(secrets.size(), Sessions::kMostSessions + 5) << "each is another";
  EXPECT_FALSE(sessions.find(first, kNow + 300));
  EXPECT_TRUE(sessions.find(last, kNow + 300));
}

// One person with many sessions or tickets ends nobody else's.
TEST(Sessions, APersonHasFewAndEndsTheOwnOnes) {
  Sessions sessions;
  const Visitor ann{.who = "ann", .issuer = "ca", .serial = "1"};
  const auto anns = sessions.redeem(sessions.issue(ann, kNow), kNow);
  std::set<std::string> bobs;
  for (std::size_t i = 0; i < Sessions::kMostSessions + 5; ++i)
    bobs.insert(*sessions.redeem(sessions.issue({.who = "bob"}, kNow + 1), kNow + 1));
  EXPECT_TRUE(sessions.find(*anns, kNow + 2));
  EXPECT_EQ(std::ranges::count_if(
                bobs, [&](const std::string& one) { return sessions.holds(one, kNow + 2); }),
            static_cast<int>(Sessions::kMostOfOnePerson));
  const std::string ticket = sessions.issue(ann, kNow);
  std::string newest;
  for (std::size_t i = 0; i < Sessions::kMostTickets + 5; ++i)
    newest = sessions.issue({.who = "bob"}, kNow + 1);
  EXPECT_TRUE(sessions.redeem(ticket, kNow + 2));
  EXPECT_TRUE(sessions.redeem(newest, kNow + 2));
}

// Many persons fill the table too; then whoever has the most loses one.
TEST(Sessions, AFullTableEndsOneOfWhoeverHasTheMost) {
  Sessions sessions;
  const auto first = sessions.redeem(sessions.issue({.who = "ann"}, kNow), kNow);
  std::size_t others = 0;
  for (std::size_t person = 0; others < Sessions::kMostSessions + 5; ++person)
    for (std::size_t i = 0; i < Sessions::kMostOfOnePerson; ++i, ++others)
      ASSERT_TRUE(
          sessions.redeem(sessions.issue({.who = std::to_string(person)}, kNow + 1), kNow + 1));
  EXPECT_TRUE(sessions.find(*first, kNow + 2)) << "the only one of its person";
}

TEST(Sessions, APersonIsANameOfAnAuthorityOrAHost) {
  const Visitor ann{.who = "ann", .issuer = "ca", .serial = "1"};
  Visitor renewed = ann;
  renewed.serial = "2";
  EXPECT_EQ(person_of(ann), person_of(renewed));
  EXPECT_NE(person_of(ann), person_of({.who = "ann"})) << "a user of the host";
  EXPECT_NE(person_of(ann), person_of({.who = "ann", .issuer = "company", .serial = "1"}));
  EXPECT_EQ(person_of({.who = "ipv4:192.0.2.1:40"}), person_of({.who = "ipv4:192.0.2.1:41"}));
}

}  // namespace
}  // namespace railgauge::console

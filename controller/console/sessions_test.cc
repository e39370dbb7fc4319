#include "controller/console/sessions.h"

#include <set>

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
  EXPECT_FALSE(sessions.find(ticket, kNow + 3)) << "the URL's text is no cookie";
}

TEST(Sessions, ATicketEndsAndAnUnknownOneIsNone) {
  Sessions sessions;
  const std::string ticket = sessions.issue({}, kNow);
  EXPECT_FALSE(sessions.redeem(ticket, kNow + Sessions::kTicketSeconds));
  EXPECT_FALSE(sessions.redeem("", kNow));
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
  EXPECT_NE(token(*a), *a) << "a page may have it, the cookie it may not";
  EXPECT_EQ(sessions.token_of("1 of ca", kNow), sessions.token_of("1 of ca", kNow + 1));
  EXPECT_NE(sessions.token_of("1 of ca", kNow), sessions.token_of("2 of ca", kNow));
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
    last = *sessions.redeem(sessions.issue({}, kNow + double(i)), kNow + double(i));
    if (first.empty()) first = last;
    secrets.insert(last);
  }
  EXPECT_EQ(secrets.size(), Sessions::kMostSessions + 5) << "each is another";
  EXPECT_FALSE(sessions.find(first, kNow + 300));
  EXPECT_TRUE(sessions.find(last, kNow + 300));
}

}  // namespace
}  // namespace railgauge::console

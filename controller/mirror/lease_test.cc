#include "controller/mirror/lease.h"

#include <array>

#include <gmock/gmock.h>

#include "controller/mirror/archive_schema.h"
#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

constexpr LeaseTimes kTimes{.seconds = 15, .renew_seconds = 5, .margin_seconds = 3};

TEST(LeaseHolder, ActsFromTheGrantUntilShortlyBeforeTheEnd) {
  LeaseHolder holder(kTimes);
  EXPECT_EQ(holder.due(100), LeaseStep::kTake);
  EXPECT_FALSE(holder.may_act(100));
  holder.granted(100, 7);
  EXPECT_EQ(holder.due(104), LeaseStep::kWait);
  EXPECT_EQ(holder.due(105), LeaseStep::kRenew);
  EXPECT_TRUE(holder.may_act(111.9));
  EXPECT_FALSE(holder.may_act(112));
  EXPECT_EQ(holder.due(112), LeaseStep::kTake);
}

TEST(LeaseHolder, StopsAtOnceWhenAnotherOneHasIt) {
  LeaseHolder holder(kTimes);
  holder.granted(100, 7);
  holder.refused(105);
  EXPECT_FALSE(holder.may_act(105));
  EXPECT_EQ(holder.generation(), std::nullopt);
}

TEST(LeaseHolder, ActsOnWithoutAnswersOnlyAsLongAsItWasGiven) {
  LeaseHolder holder(kTimes);
  holder.granted(100, 7);
  for (double now = 105; now < 120; now += 2.5) holder.unanswered(now);
  EXPECT_TRUE(holder.may_act(111));
  EXPECT_FALSE(holder.may_act(113));
}

// Whatever the order of grants, losses and silence: two that obey their answers never act at once.
TEST(LeaseHolder, NeverActsBesideAnother) {
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    std::uint32_t state = seed;
    const auto chance = [&state] { return (state = state * 1'664'525U + 1'013'904'223U) >> 24U; };
    std::array<LeaseHolder, 2> holders{LeaseHolder(kTimes), LeaseHolder(kTimes)};
    double ends = 0;
    std::int64_t generation = 0;
    for (double now = 1; now < 200; now += 0.5) {
      EXPECT_FALSE(holders[0].may_act(now) && holders[1].may_act(now)) << seed << " at " << now;
      for (LeaseHolder& holder : holders) {
        const LeaseStep step = holder.due(now);
        if (step == LeaseStep::kWait) continue;
        const bool is_lost = chance() < 60;     // the request
        const bool is_unheard = chance() < 60;  // the answer
        if (is_lost) {
          holder.unanswered(now);
          continue;
        }
        const bool is_given =
            step == LeaseStep::kTake ? now > ends : holder.generation() == generation;
        if (is_given) ends = now + kTimes.seconds;
        if (is_given && step == LeaseStep::kTake) ++generation;
        if (is_unheard)
          holder.unanswered(now);
        else if (is_given)
          holder.granted(now, generation);
        else
          holder.refused(now);
      }
    }
  }
}

// A renewal starts the time anew, and so does another generation; a look that finds no change does
// not.
TEST(LeaseWatch, CountsFromTheFirstLookThatSawTheLeaseAsItIs) {
  LeaseWatch watch;
  EXPECT_EQ(watch.unchanged_seconds(100), 0);
  watch.note(1, "10:00:00", 100);
  watch.note(1, "10:00:00", 107);
  EXPECT_EQ(watch.unchanged_seconds(109), 9);
  watch.note(1, "10:00:02", 109);
  EXPECT_EQ(watch.unchanged_seconds(110), 1);
  watch.note(2, "10:00:02", 112);
  EXPECT_EQ(watch.unchanged_seconds(112.5), 0.5);
}

class LeaseRowTest : public ArchiveTest {};

TEST_F(LeaseRowTest, IsOfOneHolderAtATimeAndEachHasAHigherGeneration) {
  auto one = pq::Connection::open({.url = url_});
  auto other = pq::Connection::open({.url = url_});
  ASSERT_TRUE(one && other && ensure_schema(**one));
  const SiteController a{.holder = "aa", .address = "a:7443"};
  const SiteController b{.holder = "bb", .address = "b:7443"};
  const auto take = [](pq::Connection& archive, const SiteController& who, bool owns = false) {
    const auto taken =
        take_lease(archive, {.site = "east", .controller = who, .seconds = 60, .owns = owns});
    EXPECT_TRUE(taken) << taken.error().message;
    return taken && *taken ? (*taken)->generation : 0;
  };
  std::int64_t number = 0;
  const auto renew = [&number](pq::Connection& archive, const SiteController& who,
                               std::int64_t generation, double seconds,
                               std::vector<std::string> admitted) {
    return *renew_lease(archive, {.site = "east",
                                  .controller = who,
                                  .generation = generation,
                                  .seconds = seconds,
                                  .number = ++number,
                                  .admitted = std::move(admitted)});
  };
  EXPECT_EQ(take(**one, a), 1);
  EXPECT_EQ(take(**other, b), 0);
  EXPECT_EQ(take(**one, a), 0) << "its own lease has not ended";
  EXPECT_EQ(take(**one, a, true), 2) << "a restart of the holder";
  ASSERT_TRUE(note_controller(**other, {.site = "east", .controller = b, .role = "ready"}));
  const auto ready = renew(**one, a, 2, 60, {});
  ASSERT_TRUE(ready);
  ASSERT_EQ(ready->size(), 1u);
  EXPECT_EQ(ready->at(0).address, "b:7443");
  EXPECT_TRUE(renew(**one, a, 2, -1, {}));  // ended
  EXPECT_EQ(take(**other, b), 0) << "the holder has not admitted it";
  EXPECT_TRUE(renew(**one, a, 2, -1, {"bb"}));
  EXPECT_EQ(take(**other, b), 3);
  EXPECT_FALSE(renew(**one, a, 2, 60, {}));
  EXPECT_TRUE(renew(**other, b, 3, 60, {}));
  const auto row = read_lease(**one, "east", "aa");
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->holder.address, "b:7443");
  EXPECT_FALSE((*row)->is_mine || (*row)->is_admitted);
  EXPECT_GT((*row)->seconds_left, 50);
}

// The network may hold a renewal back until later ones, or the end, have come.
TEST_F(LeaseRowTest, ALateRenewalBringsNothingBack) {
  auto archive = pq::Connection::open({.url = url_});
  ASSERT_TRUE(archive && ensure_schema(**archive));
  const SiteController a{.holder = "aa", .address = "a:7443"};
  ASSERT_TRUE(*take_lease(**archive, {.site = "east", .controller = a, .seconds = 60}));
  const auto renew = [&](std::int64_t number, std::vector<std::string> admitted) {
    const auto renewed = renew_lease(**archive, {.site = "east",
                                                 .controller = a,
                                                 .generation = 1,
                                                 .seconds = 60,
                                                 .number = number,
                                                 .admitted = std::move(admitted)});
    EXPECT_TRUE(renewed) << renewed.error().message;
    return renewed && *renewed;
  };
  EXPECT_TRUE(renew(1, {}));
  EXPECT_TRUE(renew(3, {"cc"}));
  EXPECT_FALSE(renew(2, {"bb"}));
  EXPECT_EQ(ask("SELECT admitted FROM railgauge.lease"), "{cc}");
  ASSERT_TRUE(end_lease(**archive, "east", 1));
  EXPECT_FALSE(renew(4, {"bb"}));
  const auto row = read_lease(**archive, "east", "cc");
  ASSERT_TRUE(row && *row);
  EXPECT_TRUE((*row)->is_released && (*row)->is_admitted);
  EXPECT_LT((*row)->seconds_left, 0);
}

// Whoever waits asks for the lease that it has watched, and for no later one.
TEST_F(LeaseRowTest, IsNotTakenWhenItsEndHasChanged) {
  auto archive = pq::Connection::open({.url = url_});
  ASSERT_TRUE(archive && ensure_schema(**archive));
  const SiteController a{.holder = "aa", .address = "a:7443"};
  ASSERT_TRUE(*take_lease(**archive, {.site = "east", .controller = a, .seconds = -2}));
  const auto seen = read_lease(**archive, "east", "bb");
  ASSERT_TRUE(seen && *seen);
  EXPECT_EQ((*seen)->seconds, -2);
  LeaseWish wish{.site = "east",
                 .controller = {.holder = "bb"},
                 .seconds = 60,
                 .seen_end = (*seen)->end,
                 .is_forced = true};
  ask("UPDATE railgauge.lease SET expires_at=expires_at + interval '1 s'");  // ended all the same
  const auto refused = take_lease(**archive, wish);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_FALSE(*refused);
  const auto now_seen = read_lease(**archive, "east", "bb");
  ASSERT_TRUE(now_seen && *now_seen);
  wish.seen_end = (*now_seen)->end;
  const auto taken = take_lease(**archive, wish);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->generation, 2);
}

// A deposed controller's sessions could hold locks for as long as a dead host's connection lives.
TEST_F(LeaseRowTest, ATakeoverEndsTheSessionsOfTheGenerationBefore) {
  auto old = pq::Connection::open({.url = url_, .application = session_name("east", 1)});
  auto foreign = pq::Connection::open({.url = url_, .application = session_name("west", 1)});
  auto taker = pq::Connection::open({.url = url_});
  ASSERT_TRUE(old && foreign && taker && ensure_schema(**taker));
  ASSERT_TRUE((*old)->script("BEGIN; LOCK TABLE railgauge.site IN EXCLUSIVE MODE"));
  const LeaseWish wish{.site = "east", .controller = {.holder = "bb"}, .seconds = 60, .above = 1};
  const auto taken = take_lease(**taker, wish);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->generation, 2);
  EXPECT_FALSE((*old)->query("SELECT 1"));
  EXPECT_TRUE((*foreign)->query("SELECT 1"));
}

// A batch that takes long to commit costs its own controller no lease, and no other one gets it.
TEST_F(LeaseRowTest, ABatchUnderWayLetsItsHolderRenewAndNobodyElseTakeIt) {
  auto batch = pq::Connection::open({.url = url_});
  auto keeper = pq::Connection::open({.url = url_, .answer_seconds = 5});
  auto taker = pq::Connection::open({.url = url_});
  ASSERT_TRUE(batch && keeper && taker && ensure_schema(**keeper));
  ASSERT_TRUE((*taker)->execute("SET lock_timeout='500ms'"));
  const SiteController a{.holder = "aa", .address = "a:7443"};
  const LeaseWish of_b{.site = "east", .controller = {.holder = "bb"}, .seconds = 60};
  ASSERT_TRUE(*take_lease(**keeper, {.site = "east", .controller = a, .seconds = 60}));
  ASSERT_TRUE((*batch)->script("BEGIN; SELECT railgauge.require_lease('east', 1)"));
  std::int64_t number = 0;
  for (const double seconds : {60.0, -1.0}) {  // it has ended after the second
    const auto renewed = renew_lease(**keeper, {.site = "east",
                                                .controller = a,
                                                .generation = 1,
                                                .seconds = seconds,
                                                .number = ++number,
                                                .admitted = {"bb"}});
    ASSERT_TRUE(renewed) << renewed.error().message;
    EXPECT_TRUE(*renewed);
  }
  EXPECT_FALSE(take_lease(**taker, of_b)) << "it was taken before the batch had ended";
  ASSERT_TRUE((*batch)->execute("COMMIT"));
  const auto taken = take_lease(**taker, of_b);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->generation, 2);
}

}  // namespace
}  // namespace railgauge::mirror

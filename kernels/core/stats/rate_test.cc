#include "kernels/core/stats/rate.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "kernels/core/base/headline.h"

namespace railgauge {
namespace {

constexpr double kMillisecond = 1e6;

// A stream of windows of a fixed amount that last about a millisecond, as a bandwidth kernel has.
std::vector<Stretch> windows(std::size_t count, std::mt19937_64& random, double spread = 0.02) {
  std::lognormal_distribution<double> ns(std::log(kMillisecond), spread);
  std::vector<Stretch> out(count);
  for (Stretch& window : out) window = {1e6, ns(random)};
  return out;
}

double time_of(std::span<const Stretch> stretches) {
  double ns = 0;
  for (const Stretch& stretch : stretches) ns += stretch.ns;
  return ns;
}

// Lengthens windows by pauses of `pause_ns` until they take `share` of all time; returns the time
// lost.
double insert_pauses(std::vector<Stretch>& stream, double pause_ns, double share) {
  const double lost = time_of(stream) * share / (1 - share);
  const auto pauses = static_cast<std::size_t>(std::max(1L, std::lround(lost / pause_ns)));
  for (std::size_t i = 0; i < pauses; ++i)
    stream[i * stream.size() / pauses].ns += lost / static_cast<double>(pauses);
  return lost;
}

double percentile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

TEST(Rate, IsAllThatMovedOverAllTime) {
  const std::vector<Stretch> stream{{100, 1e9}, {0, 1e9}, {300, 2e9}};
  EXPECT_DOUBLE_EQ(rate_figures(stream).per_second, 100);
}

// Slots whose level is drawn; the interval holds the level of the whole in 95 of 100 streams, also
// where one slot depends on the slot before.
TEST(Rate, ItsIntervalHoldsTheRateOfTheStream) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 1);
  for (const double correlation : {0.0, 0.5, 0.8}) {
    int held = 0;
    constexpr int kStreams = 400;
    for (int stream = 0; stream < kStreams; ++stream) {
      std::vector<Stretch> slots(200);
      double state = noise(random);
      for (Stretch& slot : slots) {
        state = correlation * state + std::sqrt(1 - correlation * correlation) * noise(random);
        slot = {1000 * (1 + 0.02 * state), 10 * kMillisecond};
      }
      const RateFigures figures = rate_figures(slots);
      ASSERT_TRUE(figures.interval);
      if (figures.interval->low <= 100e3 && 100e3 <= figures.interval->high) ++held;
    }
    EXPECT_GE(held, kStreams * 93 / 100) << correlation;
  }
}

// Pauses leave the median as it is and make the rate uncertain: the point is not converged, the
// stop rule continues.
TEST(Rate, ItsIntervalIsWideWherePausesAre) {
  std::mt19937_64 random(4);
  std::vector<Stretch> stream = windows(2000, random);
  EXPECT_TRUE(is_rate_precise(stream, 0.01));
  Point point;
  point.set_converged(true);
  set_rate(rate_figures(stream), 0.01, point);
  EXPECT_TRUE(point.converged());
  EXPECT_LT(point.rate_low(), point.rate());
  EXPECT_GT(point.rate_high(), point.rate());
  insert_pauses(stream, 100 * kMillisecond, 0.2);
  EXPECT_FALSE(is_rate_precise(stream, 0.01));
  set_rate(rate_figures(stream), 0, point);
  EXPECT_TRUE(point.converged()) << "nothing was asked";
  set_rate(rate_figures(stream), 0.01, point);
  EXPECT_FALSE(point.converged());
}

// A headline without an interval is not converged, whatever was asked; long stretches and short
// runs alike.
TEST(Rate, HasNoIntervalBelowEightStretchesAndIsNotConverged) {
  for (const double ns : {10 * kMillisecond, 1000.0})
    for (const double precision : {0.01, 0.0})
      for (const std::size_t count : {7U, 8U}) {
        const std::vector<Stretch> stretches(count, {1000, ns});
        Point point;
        point.set_converged(true);
        set_rate(rate_figures(stretches), precision, point);
        EXPECT_EQ(point.has_rate_low(), count == 8) << count;
        EXPECT_EQ(point.has_rate_high(), count == 8) << count;
        EXPECT_EQ(point.converged(), count == 8) << count;
        EXPECT_EQ(is_rate_precise(stretches, 0.01), count == 8) << count;
      }
  EXPECT_FALSE(is_rate_precise({}, 0.01));
}

// One short pause: the mean of slots is within 1 %, but a stream that has a pause now and then may
// lose sixteen times as much more in the same time.
TEST(Rate, ItsIntervalAllowsForMoreOfAPauseThatItMetOnce) {
  // By the gamma distribution of the mean 5.5 and the variance 21.25, less the one that was met.
  constexpr double kUnseenPauses = 16.45;
  std::vector<Stretch> stream(2000, {1e6, kMillisecond});
  stream[700].ns += 9 * kMillisecond;
  const RateFigures figures = rate_figures(stream);
  ASSERT_TRUE(figures.interval);
  EXPECT_NEAR(figures.interval->low, 1e9 * 2000 / (2009 + kUnseenPauses * 9), 1e5);
  EXPECT_FALSE(is_rate_precise(stream, 0.01));
  stream[700].ns -= 8 * kMillisecond;
  EXPECT_TRUE(is_rate_precise(stream, 0.01)) << "a pause of a millisecond";
}

// The same of stretches that are quicker than the stream.
TEST(Rate, ItsIntervalAllowsForMoreOfAnEarlyStretch) {
  std::vector<Stretch> stream(200, {1e6, 10 * kMillisecond});
  stream[70].ns = kMillisecond;
  EXPECT_FALSE(is_rate_precise(stream, 0.01));
}

// The measured time is the first part of the allowed one: a slow trend moves the far part.
TEST(Rate, ItsIntervalCoversTheAllowedTime) {
  std::mt19937_64 random(9);
  std::vector<Stretch> stream = windows(2000, random, 0.002);
  for (std::size_t i = 0; i < stream.size(); ++i)
    stream[i].ns *= 1 + 0.002 * static_cast<double>(i) / static_cast<double>(stream.size());
  const double own = time_of(stream);
  const RateFigures measured = rate_figures(stream, own);
  const RateFigures allowed = rate_figures(stream, 2.5 * own);
  ASSERT_TRUE(measured.interval && allowed.interval);
  EXPECT_EQ(measured.interval->low, rate_figures(stream).interval->low);
  EXPECT_GT(measured.per_second - measured.interval->low, 0);
  EXPECT_GT(allowed.per_second - allowed.interval->low,
            3 * (measured.per_second - measured.interval->low));
  // The rate over 2.5 times the time is lower by 0.15 %.
  EXPECT_LT(allowed.interval->low, 0.9985 * allowed.per_second);
}

TEST(Rate, FallsByExactlyTheTimeThatPausesTake) {
  std::mt19937_64 random(1);
  for (const double pause : {1, 5, 20, 100, 700})
    for (const double share : {0.05, 0.2, 0.5, 0.9}) {
      std::vector<Stretch> stream = windows(2000, random);
      const double before = rate_figures(stream).per_second;
      const double ns = time_of(stream);
      const double lost = insert_pauses(stream, pause * kMillisecond, share);
      EXPECT_NEAR(rate_figures(stream).per_second / before, ns / (ns + lost), 1e-12)
          << pause << " ms, " << share;
    }
}

// Any pattern: lengths, places and number are drawn.
TEST(Rate, FindsThePausesOfAnyPattern) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Stretch> stream = windows(500 + random() % 2000, random);
    EXPECT_EQ(rate_figures(stream).pause_share, 0) << trial;
    EXPECT_EQ(rate_figures(stream).longest_pause_ns, 0) << trial;
    std::vector<double> pauses(1 + random() % 40);
    std::vector<std::size_t> places(stream.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::shuffle(places, random);
    for (std::size_t i = 0; i < pauses.size(); ++i) {
      pauses[i] = kMillisecond * std::exponential_distribution<double>(0.02)(random) + 3e6;
      stream[places[i]].ns += pauses[i];
    }
    const double lost = std::accumulate(pauses.begin(), pauses.end(), 0.0);
    const RateFigures figures = rate_figures(stream);
    EXPECT_NEAR(figures.pause_share * time_of(stream) / lost, 1, 0.05) << trial;
    EXPECT_GE(figures.longest_pause_ns, std::ranges::max(pauses) - 0.1 * kMillisecond) << trial;
  }
}

// The pace is that of the middle unit that moved, so that pauses do not become the usual.
TEST(Rate, FindsPausesThatTakeNearlyAllTime) {
  std::mt19937_64 random(3);
  std::vector<Stretch> stream = windows(2000, random);
  insert_pauses(stream, 100 * kMillisecond, 0.95);
  EXPECT_NEAR(rate_figures(stream).pause_share, 0.95, 0.01);
}

TEST(Rate, CallsNoNoisePause) {
  std::mt19937_64 random(4);
  // Windows whose length varies by a tenth, and some that are half as long again.
  std::vector<Stretch> stream = windows(5000, random, 0.1);
  for (std::size_t i = 0; i < stream.size(); i += 100) stream[i].ns *= 1.5;
  EXPECT_EQ(rate_figures(stream).pause_share, 0);
}

// Slots count what completed in equal times: a pause is a run of empty ones.
TEST(Rate, FindsPausesOverSlotsOfEqualTime) {
  std::vector<Stretch> stream(200, {1000, 10 * kMillisecond});
  for (std::size_t i = 100; i < 110; ++i) stream[i].amount = 0;
  stream[110].amount = 500;
  const RateFigures figures = rate_figures(stream);
  EXPECT_DOUBLE_EQ(figures.longest_pause_ns, 105 * kMillisecond);
  EXPECT_DOUBLE_EQ(figures.pause_share, 105.0 / 2000);
}

TEST(Rate, AStreamThatNeverMovedHasNoPaceAndAllSlotsEmpty) {
  const RateFigures figures = rate_figures(std::vector<Stretch>(5, {0, 10 * kMillisecond}));
  EXPECT_EQ(figures.per_second, 0);
  EXPECT_EQ(figures.slots, std::vector<double>(5, 0.0));
  EXPECT_EQ(figures.pause_share, 1);
  EXPECT_EQ(rate_figures({}).slots.size(), 0U);
  EXPECT_EQ(rate_figures({}).per_second, 0);
}

// Nothing at the end is left out, whatever lengths stretches and slots have.
TEST(Rate, SlotsHoldAllThatMovedAndAllTime) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Stretch> stream(1 + random() % 300);
    const double scale = std::pow(10.0, 3 + static_cast<double>(random() % 6));
    for (Stretch& one : stream)
      one = {static_cast<double>(random() % 3 * (random() % 1000)),
             scale * std::exponential_distribution<double>(1)(random)};
    const RateFigures figures = rate_figures(stream);
    double moved = 0;
    for (const Stretch& one : stream) moved += one.amount;
    double in_slots = 0;
    for (const double rate : figures.slots) in_slots += rate * figures.slot_ns / 1e9;
    EXPECT_NEAR(in_slots, moved, 1e-9 * (moved + 1)) << trial;
    EXPECT_NEAR(figures.slot_ns * static_cast<double>(figures.slots.size()), time_of(stream),
                1e-9 * time_of(stream));
    EXPECT_GE(figures.slots.size(), 1U);
  }
}

TEST(Rate, APauseAtTheVeryEndShowsInTheLastSlots) {
  std::mt19937_64 random(6);
  std::vector<Stretch> stream = windows(1000, random);
  stream.back().ns += 55 * kMillisecond;
  const RateFigures figures = rate_figures(stream);
  EXPECT_LT(figures.slots.back(), 0.1 * figures.slots.front());
  EXPECT_NEAR(figures.longest_pause_ns, 55 * kMillisecond, kMillisecond);
}

TEST(Rate, ASlotIsAsLongAsAStretchWhereThatIsLonger) {
  const RateFigures figures = rate_figures(std::vector<Stretch>(30, {1e6, 25 * kMillisecond}));
  EXPECT_DOUBLE_EQ(figures.slot_ns, 25 * kMillisecond);
  EXPECT_EQ(figures.slots.size(), 30U);
}

TEST(Rate, TheLowSlotsFallFarBelowTheMedianWhereAFifthOfTheTimeIsPauses) {
  std::mt19937_64 random(7);
  std::vector<Stretch> stream = windows(2000, random);
  insert_pauses(stream, 100 * kMillisecond, 0.2);
  const RateFigures figures = rate_figures(stream);
  EXPECT_LT(percentile(figures.slots, 0.1), 0.2 * percentile(figures.slots, 0.5));
}

TEST(Rate, APointHasThePercentilesThatItsSlotsBound) {
  const auto point_of = [](std::size_t slots) {
    Point point;
    set_rate(rate_figures(std::vector<Stretch>(slots, {1000, 10 * kMillisecond})), 0, point);
    return point;
  };
  EXPECT_FALSE(point_of(43).has_slot_p10());
  EXPECT_TRUE(point_of(44).has_slot_p10());
  EXPECT_FALSE(point_of(458).has_slot_p1());
  EXPECT_DOUBLE_EQ(point_of(459).slot_p1(), 100'000);
  EXPECT_DOUBLE_EQ(point_of(10).rate(), 100'000);
  EXPECT_EQ(point_of(10).pause_share(), 0);
}

TEST(Rate, EqualAmountsHaveTheHarmonicMeanAsTheirRate) {
  const std::vector<double> rates{1e9, 0.25e9};
  const auto stretches = equal_amounts(rates, 5e6);
  EXPECT_DOUBLE_EQ(rate_figures(stretches).per_second, 0.4e9);
  EXPECT_DOUBLE_EQ(time_of(stretches), 5e6);
}

// Nothing moved in a sample: the headline falls, it does not vanish.
TEST(Rate, ARateOfZeroIsAStretchOfNoAmount) {
  const std::vector<double> rates{1e9, 0, 1e9, 1e9};
  const auto stretches = equal_amounts(rates, 4e6);
  EXPECT_EQ(stretches[1].amount, 0);
  EXPECT_DOUBLE_EQ(time_of(stretches), 4e6);
  EXPECT_DOUBLE_EQ(rate_figures(stretches).per_second, 0.75e9);
  const auto still = equal_amounts(std::vector<double>(10, 0), 1e9);
  EXPECT_EQ(rate_figures(still).per_second, 0);
  EXPECT_DOUBLE_EQ(time_of(still), 1e9);
}

TEST(Rate, EqualUnitsKeepTheSharesOfTheirTimes) {
  const auto stretches = equal_units(std::vector<double>{1, 3}, 8e6);
  EXPECT_DOUBLE_EQ(stretches[0].ns, 2e6);
  EXPECT_DOUBLE_EQ(stretches[1].ns, 6e6);
  EXPECT_EQ(stretches[1].amount, 1);
}

TEST(Rate, IsTheHeadlineWhereThereIsOne) {
  Point point;
  point.set_median(100);
  EXPECT_EQ(headline_of(point), 100);
  point.set_rate(77);
  EXPECT_EQ(headline_of(point), 77);
}

}  // namespace
}  // namespace railgauge

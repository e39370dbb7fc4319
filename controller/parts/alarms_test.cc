#include "controller/parts/alarms.h"

#include <cstddef>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::parts {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kParts = 64;
constexpr std::size_t kNights = 12;
constexpr std::size_t kSlow = 17;
constexpr float kNoise = 0.004F;

// A table of healthy parts with normal noise. Synthetic.
Table healthy_table(unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> noise(0, kNoise);
  Table table{.id = TableId::kPort, .parts = kParts, .levels = {}};
  for (std::size_t i = 0; i < kNights * kParts; ++i)
    table.levels.push_back({.loss = noise(random), .error = kNoise});
  return table;
}

// Makes one part lose in the last nights.
Table with_loss(Table table, float loss, std::size_t nights) {
  for (std::size_t night = kNights - nights; night < kNights; ++night)
    table.levels[night * kParts + kSlow].loss += loss;
  return table;
}

TEST(Alarms, HealthyPartsHaveNone) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const TableAlarms alarms = alarms_of(healthy_table(seed), kNights);
    EXPECT_THAT(alarms.confirmed, IsEmpty()) << seed;
    EXPECT_THAT(alarms.tonight, IsEmpty()) << seed;
  }
}

TEST(Alarms, ALossOfTwoNightsIsConfirmed) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const TableAlarms alarms = alarms_of(with_loss(healthy_table(seed), 0.05F, 2), kNights);
    ASSERT_THAT(alarms.confirmed, SizeIs(1)) << seed;
    EXPECT_EQ(alarms.confirmed[0].part, kSlow);
    EXPECT_NEAR(alarms.confirmed[0].loss, 0.05, 0.02);
    EXPECT_LT(alarms.confirmed[0].chance, 0.002);
  }
}

// The eight ports of a slow node are more than a hundredth of a small site's.
TEST(Alarms, APortIsConfirmedBesideAllPortsOfASlowNode) {
  constexpr std::size_t kPorts = 512;
  constexpr std::size_t kOfANode = 8;
  constexpr std::size_t kPort = 300;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> noise(0, kNoise);
    Table table{.id = TableId::kPort, .parts = kPorts, .levels = {}};
    for (std::size_t i = 0; i < kNights * kPorts; ++i)
      table.levels.push_back({.loss = noise(random), .error = kNoise});
    for (std::size_t night = kNights - 2; night < kNights; ++night) {
      for (std::size_t port = 0; port < kOfANode; ++port)
        table.levels[night * kPorts + port].loss += 0.1F;
      table.levels[night * kPorts + kPort].loss += 0.1F;
    }
    const TableAlarms alarms = alarms_of(table, kNights);
    ASSERT_THAT(alarms.confirmed, SizeIs(kOfANode + 1)) << seed;
    EXPECT_EQ(alarms.confirmed.back().part, kPort);
  }
}

TEST(Alarms, ALossOfOneNightIsACandidateOnly) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const TableAlarms alarms = alarms_of(with_loss(healthy_table(seed), 0.05F, 1), kNights);
    EXPECT_THAT(alarms.confirmed, IsEmpty()) << seed;
    ASSERT_THAT(alarms.tonight, SizeIs(1)) << seed;
    EXPECT_EQ(alarms.tonight[0].part, kSlow);
    EXPECT_EQ(alarms.tonight[0].statistic, Statistic::kTonight);
  }
}

TEST(Alarms, ALossBelowTheLeastIsNone) {
  const Table table = with_loss(healthy_table(1), static_cast<float>(kLeastLoss) - 0.006F, kNights);
  EXPECT_THAT(alarms_of(table, kNights).confirmed, IsEmpty());
}

TEST(Alarms, VisibleLossIsOneThatIsSeen) {
  const double visible = alarms_of(healthy_table(5), kNights).visible_in_two;
  EXPECT_GE(visible, kLeastLoss);
  EXPECT_LT(visible, 0.05);
}

TEST(Alarms, UnknownLevelsAndAnEmptyTableHaveNone) {
  Table table = healthy_table(1);
  for (Level& level : table.levels) level = {};
  EXPECT_THAT(alarms_of(table, kNights).confirmed, IsEmpty());
  EXPECT_THAT(alarms_of({}, 0).confirmed, IsEmpty());
}

}  // namespace
}  // namespace railgauge::parts

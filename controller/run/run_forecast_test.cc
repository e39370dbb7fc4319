#include "controller/run/run_forecast.h"

#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

constexpr ForecastTask kTasks[] = {{0, 10}, {0, 4}, {1, 10}, {2, 20}};

TEST(RunForecast, BeforeTheFirstRoundIsThroughThePlanIsBelieved) {
  RunForecast forecast(kTasks);
  forecast.start(100);
  EXPECT_DOUBLE_EQ(forecast.seconds_left(1, 100), 40);
  EXPECT_DOUBLE_EQ(forecast.seconds_left(1, 105), 35);
}

TEST(RunForecast, AfterwardsWhatTheRoundsTookCounts) {
  RunForecast forecast(kTasks);
  forecast.start(100);
  EXPECT_DOUBLE_EQ(forecast.seconds_left(2, 105), 15) << "half of the expected time";
}

TEST(RunForecast, ItIsNeverNegativeAndOneHungRoundDoesNotRunAway) {
  RunForecast forecast(kTasks);
  forecast.start(0);
  EXPECT_DOUBLE_EQ(forecast.seconds_left(1, 1e6), 0);
  EXPECT_DOUBLE_EQ(forecast.seconds_left(2, 1e6), 300);
  EXPECT_DOUBLE_EQ(RunForecast({}).seconds_left(0, 5), 0);
}

}  // namespace
}  // namespace railgauge::run

#include "kernels/core/text/rfc3339.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr double kNoon = 1'795'176'000;  // 2026-11-20T12:00:00Z

TEST(Rfc3339, PrintsMillisecondsInUtcAndNothingForZero) {
  EXPECT_EQ(rfc3339(kNoon + 0.25), "2026-11-20T12:00:00.250Z");
  EXPECT_EQ(rfc3339(kNoon - 0.0001), "2026-11-20T12:00:00.000Z");
  EXPECT_EQ(rfc3339(0), "");
}

TEST(UtcText, HasTheFormThatIsAskedFor) {
  EXPECT_EQ(utc_text(kNoon + 0.9, "%Y%m%d-%H%M%S"), "20261120-120000");
  EXPECT_EQ(utc_text(0, "%H:%M:%SZ"), "00:00:00Z");
}

TEST(ParseCalendar, TakesDatesTimesAndZones) {
  const double midnight = kNoon - 12 * 3600;
  EXPECT_EQ(parse_calendar("2026-11"), midnight - 19 * 86'400);
  EXPECT_EQ(parse_calendar("2026-11-20"), midnight);
  EXPECT_EQ(parse_calendar("2026-11-20T12:00"), kNoon);
  EXPECT_EQ(parse_calendar("2026-11-20 12:00:00.5Z"), kNoon + 0.5);
  EXPECT_EQ(parse_calendar("2026-11-20T13:00:00+01:00"), kNoon);
}

TEST(ParseCalendar, RefusesDaysThatDoNotExistAndTextBehindATime) {
  for (const char* text : {"", "24h", "2026-13-01", "2026-02-30", "2026-11-20T24:00",
                           "2026-11-20T12:00:00Z tomorrow", "26-11-20"})
    EXPECT_EQ(parse_calendar(text), std::nullopt) << text;
}

}  // namespace
}  // namespace railgauge

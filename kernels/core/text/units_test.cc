#include "kernels/core/text/units.h"

#include <cmath>
#include <limits>
#include <locale>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParseBytes, KnowsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("8"), 8U);
  EXPECT_EQ(parse_bytes("8B"), 8U);
  EXPECT_EQ(parse_bytes("64KiB"), 65536U);
  EXPECT_EQ(parse_bytes("64 KiB"), 65536U);
  EXPECT_EQ(parse_bytes("1MB"), 1'000'000U);
  EXPECT_EQ(parse_bytes("1MiB"), 1'048'576U);
  EXPECT_EQ(parse_bytes("1.5GiB"), 1'610'612'736U);
  EXPECT_EQ(parse_bytes("0.1MB"), 100'000U);
  EXPECT_EQ(parse_bytes("2kB"), 2000U);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", " 8", "-1", "+1", "KiB", "64K", "64kb", "1.5", "0.3B", "inf", "nan",
                           "1e3", "8  B", "8B ", "0x10", "9999999TiB", "1,5MB", "1.2.3MB"})
    EXPECT_FALSE(parse_bytes(text)) << text;
  EXPECT_EQ(parse_bytes("64K").error().message,
            "size \"64K\": unit \"K\" is unknown; use B, kB, MB, GB, TB (powers of 1000) or KiB, "
            "MiB, GiB, TiB (powers of 1024)");
  EXPECT_EQ(parse_bytes("abc").error().code, Code::kInvalidArgument);
}

TEST(ParseDuration, KnowsItsUnits) {
  EXPECT_EQ(parse_duration_ns("5s"), 5e9);
  EXPECT_EQ(parse_duration_ns("20us"), 20e3);
  EXPECT_EQ(parse_duration_ns("1.5ms"), 1.5e6);
  EXPECT_EQ(parse_duration_ns("7ns"), 7.0);
  EXPECT_EQ(parse_duration_ns("2min"), 120e9);
  EXPECT_EQ(parse_duration_ns("1h"), 3600e9);
  EXPECT_EQ(parse_duration_ns("2d"), 172'800e9);
  EXPECT_EQ(parse_duration_ns("0.5 d"), 43'200e9);
  EXPECT_EQ(parse_duration_ns("0"), 0.0);
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  for (const char* text :
       {"", "5", "s", "-5s", "5 parsecs", "5m", "9000000h", "367d", "infs", "1e3s"})
    EXPECT_FALSE(parse_duration_ns(text)) << text;
  EXPECT_EQ(parse_duration_ns("5").error().message,
            "duration \"5\" has no unit; use ns, us, ms, s, min, h or d");
}

TEST(ParseNumber, RefusesWhatIsNotFiniteOrNotWhole) {
  EXPECT_EQ(parse_number("-1.5e3"), -1500.0);
  EXPECT_EQ(parse_integer("-42"), -42);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "0x1p3x", "1 ", "+1"})
    EXPECT_FALSE(parse_number(text)) << text;
  for (const char* text : {"", "1.0", "9223372036854775808", "+1", " 1", "1k"})
    EXPECT_FALSE(parse_integer(text)) << text;
}

TEST(CanonicalText, ParsesBackToTheSameValue) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bytes = random() >> (11U + random() % 53U);
    ASSERT_EQ(parse_bytes(canonical_bytes(bytes)), bytes);
    const double ns = std::floor(static_cast<double>(random() % (1ULL << (random() % 52U + 1U))));
    ASSERT_EQ(parse_duration_ns(canonical_duration(ns)), ns) << canonical_duration(ns);
  }
  EXPECT_EQ(canonical_bytes(0), "0");
  EXPECT_EQ(canonical_bytes(1024), "1KiB");
  EXPECT_EQ(canonical_bytes(1'000'000), "1MB");
  EXPECT_EQ(canonical_bytes(1'024'000), "1000KiB");
  EXPECT_EQ(canonical_bytes(65537), "65537");
  EXPECT_EQ(canonical_duration(0), "0s");
  EXPECT_EQ(canonical_duration(1.5e6), "1500us");
  EXPECT_EQ(canonical_duration(0.5), "0.5ns");
  EXPECT_EQ(canonical_duration(3e-7), "0.0000003ns");
  EXPECT_EQ(parse_duration_ns(canonical_duration(5e-324)), 5e-324);
}

TEST(Format, PicksTheUnitAfterRounding) {
  EXPECT_EQ(format_rate_bits(11.675e9), "93.4 Gb/s");
  EXPECT_EQ(format_rate_bits(400e9 / 8), "400.0 Gb/s");
  EXPECT_EQ(format_rate_bits(117.5e6), "940.0 Mb/s");
  EXPECT_EQ(format_rate_bytes(11.675e9), "11.7 GB/s");
  EXPECT_EQ(format_rate_bytes(999.96e6), "1.00 GB/s");
  EXPECT_EQ(format_rate_bytes(3.35e12), "3350.0 GB/s");
  EXPECT_EQ(format_rate_bytes(0), "0.00 B/s");
  EXPECT_EQ(format_rate_count(4.21e6), "4.21 M/s");
  EXPECT_EQ(format_latency_ns(850), "850.0 ns");
  EXPECT_EQ(format_latency_ns(1234), "1.23 us");
  EXPECT_EQ(format_latency_ns(9.996e3), "10.0 us");
  EXPECT_EQ(format_latency_ns(999'960), "1.00 ms");
  EXPECT_EQ(format_latency_ns(2.5e9), "2.50 s");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1e6), "1 MB");
  EXPECT_EQ(format_bytes(65537), "65537 B");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(12'345), "12,345");
  EXPECT_EQ(format_count(-1'234'567), "-1,234,567");
  EXPECT_EQ(format_share(0.934), "93.4 %");
}

TEST(Format, NeverPrintsWhatIsNotANumber) {
  for (const double value : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(format_bytes(value), "-");
    EXPECT_EQ(format_rate_bits(value), "-");
    EXPECT_EQ(format_rate_bytes(value), "-");
    EXPECT_EQ(format_rate_count(value), "-");
    EXPECT_EQ(format_latency_ns(value), "-");
    EXPECT_EQ(format_count(value), "-");
    EXPECT_EQ(format_share(value), "-");
  }
}

// A locale such as Germany's, without asking the system to have one installed.
struct CommaPunctuation final : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Format, IsTheSameUnderADecimalComma) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new CommaPunctuation));
  std::ostringstream control;
  control << 1234.5;
  const std::string rate = format_rate_bits(11.675e9);
  const std::string count = format_count(12'345);
  const auto parsed = parse_bytes("1.5GiB");
  std::locale::global(before);
  EXPECT_EQ(control.str(), "1.234,5");
  EXPECT_EQ(rate, "93.4 Gb/s");
  EXPECT_EQ(count, "12,345");
  EXPECT_EQ(parsed, 1'610'612'736U);
}

}  // namespace
}  // namespace railgauge

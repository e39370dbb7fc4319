// Golden files of everything that the runner prints. RAILGAUGE_UPDATE_GOLDEN=1 writes them anew.
#include "kernels/core/report/report.h"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/runner/kernel_list.h"
#include "kernels/runner/testing/rows.h"

namespace railgauge {
namespace {

// Compares with kernels/runner/testdata/NAME.golden (tests run in the source folder).
void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = "kernels/runner/testdata/" + name + ".golden";
  if (std::getenv("RAILGAUGE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << actual;
    return;
  }
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << path << "; RAILGAUGE_UPDATE_GOLDEN=1 writes it anew";
}

Point point_of(const char* metric, const char* meaning, const char* unit, double bytes,
               double median) {
  Point point;
  point.set_metric(metric);
  point.set_meaning(meaning);
  point.set_unit(unit);
  point.set_message_bytes(bytes);
  point.set_larger_is_better(point.unit() != "ns");
  point.set_sample_count(12'345);
  point.set_median(median);
  point.set_median_low(median * 0.99);
  point.set_median_high(median * 1.01);
  point.set_min(median * 0.5);
  point.set_max(median * 70);
  point.set_mean(median * 1.1);
  point.set_p99(median * 3);
  point.set_p999(median * 9);
  point.set_p99_low(median * 2);
  point.set_p99_high(median * 4);
  point.set_p999_low(median * 8);
  point.set_p999_high(median * 16);
  point.set_converged(true);
  point.set_stop_reason("converged");
  point.set_verified(true);
  return point;
}

RunnerReport report_of(const char* kernel) {
  RunnerReport report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_railgauge_version("0.0.0");
  report.set_kernel(kernel);
  report.set_started_at("2026-11-20T12:00:00.123Z");
  report.set_duration_seconds(1.5);
  report.set_outcome(std::string(kPassed));
  Started& started = *report.mutable_started();
  started.set_kernel(kernel);
  started.set_revision(3);
  started.set_endpoint("mlx5_0:1");
  auto& facts = *started.mutable_facts();
  facts["memory"] = "host";
  facts["gid"] = "::ffff:10.0.0.1";
  facts["mtu_bytes"] = "4096";
  facts["clock_source"] = "tsc";
  facts["port_rate_bits_per_second"] = "100000000000";
  facts["peer"] = "node2";
  return report;
}

RunnerReport latency_report() {
  RunnerReport report = report_of("verbs.write_lat");
  *report.add_points() = point_of("latency_ns", "half_rtt", "ns", 8, 1834.6);
  Point few = point_of("latency_ns", "half_rtt", "ns", 65536, 12345.6);
  few.set_sample_count(5);
  few.clear_median_low();
  few.clear_median_high();
  few.clear_p99();
  few.clear_p999();
  few.clear_p99_low();
  few.clear_p99_high();
  few.clear_p999_low();
  few.clear_p999_high();
  few.set_converged(false);
  few.set_stop_reason("time_cap");
  *report.add_points() = few;
  *report.add_points() = point_of("latency_ns", "half_rtt", "ns", 1 << 20, 1234567.8);
  return report;
}

RunnerReport bandwidth_report() {
  RunnerReport report = report_of("verbs.write_bw");
  for (const double bytes : {4096.0, 65536.0}) {
    const double rate = bytes < 5000 ? 2.1e9 : 11.6e9;
    *report.add_points() =
        point_of("bandwidth_bytes_per_second", "unidirectional", "bytes_per_second", bytes, rate);
    *report.add_points() =
        point_of("message_rate_per_second", "unidirectional", "per_second", bytes, rate / bytes);
  }
  for (Point& point : *report.mutable_points()) point.set_max(point.median() * 1.02);
  return report;
}

TEST(Report, PrintsLatencyAsATable) {
  expect_golden("latency", report_table(latency_report(), {}));
}

TEST(Report, PrintsBandwidthInBitsWithTheShareOfLineRate) {
  expect_golden("bandwidth_bits", report_table(bandwidth_report(), {.rate_unit = RateUnit::kBits}));
}

TEST(Report, PrintsPairsAndMarksThrottledPoints) {
  RunnerReport report = report_of("cuda.peer_copy_bw");
  report.mutable_started()->clear_endpoint();
  report.mutable_started()->mutable_facts()->clear();
  for (const char* pair : {"gpu0>gpu1", "gpu1>gpu0"}) {
    Point point = point_of("bandwidth_bytes_per_second", "unidirectional", "bytes_per_second",
                           1 << 29, 391.5e9);
    point.set_max(point.median() * 1.02);
    point.set_pair(pair);
    point.set_throttled(point.pair() == "gpu1>gpu0");
    if (point.throttled()) (*point.mutable_facts())["throttle_reasons"] = "sw_power_cap";
    *report.add_points() = point;
  }
  expect_golden("pairs", report_table(report, {.rate_unit = RateUnit::kBytes}));
}

TEST(Report, PrintsBandwidthInBytesWhereAsked) {
  expect_golden("bandwidth_bytes",
                report_table(bandwidth_report(), {.rate_unit = RateUnit::kBytes}));
}

TEST(Report, FiguresBelowOneKeepFourSignificantDigits) {
  const auto table_of = [](double bytes_per_second) {
    RunnerReport report = report_of("verbs.write_bw");
    *report.add_points() = point_of("bandwidth_bytes_per_second", "unidirectional",
                                    "bytes_per_second", 8, bytes_per_second);
    return report_table(report, {.rate_unit = RateUnit::kBytes});
  };
  EXPECT_THAT(table_of(431'200), testing::HasSubstr(" 0.0004312 "));
  EXPECT_THAT(table_of(99'999'000), testing::HasSubstr(" 0.1000 "));
  EXPECT_THAT(table_of(431), testing::HasSubstr(" 0.0000004 "));
  EXPECT_THAT(table_of(0), testing::HasSubstr(" 0.000 "));
}

TEST(Report, SaysLoudlyWhatIsSyntheticAndWhatCountsForNothing) {
  RunnerReport report = latency_report();
  report.mutable_points(0)->set_synthetic(true);
  report.set_outcome(std::string(kFailed));
  report.set_reason("byte 17 is 0x00; 0x2a was written");
  const std::string text = report_table(report, {});
  expect_golden("synthetic_failed", text);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "colour only on a terminal";
  EXPECT_NE(report_table(report, {.colour = true}).find("\x1b[1;31mSYNTHETIC"), std::string::npos);
  EXPECT_TRUE(wants_colour(true, nullptr, "xterm"));
  EXPECT_TRUE(wants_colour(true, "", nullptr));
  EXPECT_FALSE(wants_colour(true, "1", "xterm"));
  EXPECT_FALSE(wants_colour(true, nullptr, "dumb"));
  EXPECT_FALSE(wants_colour(false, nullptr, "xterm"));
}

TEST(Report, PrintsOneJsonDocumentWithItsSchemaVersionFirst) {
  const std::string text = to_json(latency_report());
  expect_golden("latency_json", text + '\n');
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 1,\n"));
}

TEST(Report, AReportOfNothingIsStillADocumentAndATable) {
  RunnerReport report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_kernel("verbs.write_lat");
  report.set_outcome(std::string(kCrashed));
  report.set_reason("fork: Cannot allocate memory");
  expect_golden("nothing_json", to_json(report) + '\n');
  EXPECT_EQ(report_table(report, {}), "verbs.write_lat\n");
}

TEST(Report, PrintsCsvWithOneHeaderLineAndNothingForWhatIsAbsent) {
  RunnerReport report = latency_report();
  report.mutable_points(1)->set_stddev(std::numeric_limits<double>::quiet_NaN());
  report.mutable_points(1)->set_stop_reason("quoted, \"words\"");
  expect_golden("latency_csv", report_csv(report));
}

TEST(Report, AnEventIsOneLineWithItsSchemaVersionFirst) {
  Record record;
  record.mutable_note()->set_text("two\nlines");
  EXPECT_EQ(event_line(record),
            "{\"schema_version\":1,\"key\":null,\"unix_time_seconds\":0,"
            "\"note\":{\"severity\":\"\",\"text\":\"two\\nlines\"}}\n");
}

TEST(Report, IsTheSameUnderACommaDecimalLocale) {
  struct CommaDecimal : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const auto everything = [] {
    return report_table(latency_report(), {}) + report_table(bandwidth_report(), {}) +
           report_csv(latency_report()) + to_json(bandwidth_report()) +
           kernel_description(kernel_list(testing_rows::rows()).kernels(0)) + rfc3339(1.5);
  };
  const std::string before = everything();
  const std::locale old = std::locale::global(std::locale(std::locale(), new CommaDecimal));
  const std::string after = everything();
  std::locale::global(old);
  EXPECT_EQ(before, after);
}

TEST(Report, WritesTimesInUtcAndRoundsToMilliseconds) {
  EXPECT_EQ(rfc3339(0), "");
  EXPECT_EQ(rfc3339(1795176000.1234), "2026-11-20T12:00:00.123Z");
  EXPECT_EQ(rfc3339(0.9996), "1970-01-01T00:00:01.000Z");
}

TEST(Report, AnUnknownFormatSaysWhatIsAllowed) {
  const auto format = parse_format("jsn");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().message,
            "format \"jsn\" is not table, json, csv or ndjson; did you mean \"json\"?");
}

TEST(KernelListing, PrintsNamesAndSummaries) {
  expect_golden("list", kernel_list_table(kernel_list(testing_rows::rows())));
}

TEST(KernelListing, DescribesEveryParameter) {
  expect_golden("describe", kernel_description(kernel_list(testing_rows::rows()).kernels(1)));
}

TEST(KernelListing, JsonBeginsWithItsSchemaVersionAndPrintsFalseAndNull) {
  const std::string text = to_json(kernel_list(testing_rows::rows()));
  expect_golden("list_json", text + '\n');
  KernelList read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &read).ok());
  EXPECT_EQ(read.kernels_size(), 3);
}

TEST(KernelListing, AnUnknownKernelGetsASuggestion) {
  const auto row = find_row(testing_rows::rows(), "test.lateny");
  ASSERT_FALSE(row);
  EXPECT_EQ(row.error().code, Code::kInvalidArgument);
  EXPECT_EQ(row.error().message,
            "kernel \"test.lateny\" is unknown; did you mean \"test.latency\"?");
}

}  // namespace
}  // namespace railgauge

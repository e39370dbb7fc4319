#include "kernels/core/text/json.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <locale>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/record.pb.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Json, PrintsZerosAndWritesAbsentOptionalsAsNull) {
  const std::string json = to_json(Phases{}, JsonLayout::kCompact);
  EXPECT_EQ(json, R"({"start_ns":null,"open_ns":null,"wait_ns":null,"exchange_ns":null,)"
                  R"("measure_ns":null,"stop_ns":null})");
  EXPECT_EQ(
      to_json(TaskRequest{}, JsonLayout::kCompact),
      R"({"key":null,"kernel":"","parameters":{},"size":0,"endpoint":"",)"
      R"("deadline_seconds":0,"spawned_monotonic_ns":0,"raw_samples":false,"site_defaults":[]})");
}

TEST(Json, KeepsTheZeroOfAnOptionalThatIsSet) {
  Phases phases;
  phases.set_start_ns(0);
  EXPECT_THAT(to_json(phases, JsonLayout::kCompact), HasSubstr(R"("start_ns":0,)"));
}

TEST(Json, NeverPrintsNanOrInfinity) {
  EXPECT_EQ(json_number(std::nan("")), "null");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json_number(-std::numeric_limits<double>::infinity()), "null");
}

TEST(Json, DoublesReadBackAsTheSameValue) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 2317.25, -0.3})
    EXPECT_EQ(std::strtod(json_number(value).c_str(), nullptr), value) << json_number(value);
  EXPECT_EQ(json_number(0.1), "0.1");
}

TEST(Json, WholeDoublesHaveNoExponent) {
  EXPECT_EQ(json_number(100000), "100000");
  EXPECT_EQ(json_number(1048576), "1048576");
  EXPECT_EQ(json_number(-0.0), "0");
  EXPECT_EQ(json_number(9007199254740991.0), "9007199254740991");
}

TEST(Json, EscapesWhatJsonForbidsInStrings) {
  EXPECT_EQ(json_string("a\"b\\c\n\t\r\x01\x7f"), R"("a\"b\\c\n\t\r\u0001\u007f")");
  EXPECT_EQ(json_string("größe →"), "\"größe →\"");
}

TEST(Json, EscapesWhatSteersATerminal) {
  EXPECT_EQ(json_string("\u0085\u009b31m a\u202eb\u2066"), R"("\u0085\u009b31m a\u202eb\u2066")");
}

TEST(Json, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(json_string("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(json_string("\xC3"), "\"\xEF\xBF\xBD\"");                    // cut short
  EXPECT_EQ(json_string("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");    // overlong
  EXPECT_THAT(json_string("\xED\xA0\x80"), Not(HasSubstr("\xED\xA0")));  // surrogate
}

TEST(Json, SortsMapKeysAndIndentsNestedLists) {
  KernelList list;
  list.set_schema_version(1);
  auto* kernel = list.add_kernels();
  kernel->set_name("verbs.write_lat");
  kernel->add_metrics("latency_ns");
  EXPECT_EQ(to_json(list, JsonLayout::kIndented), R"({
  "schema_version": 1,
  "kernels": [
    {
      "name": "verbs.write_lat",
      "revision": 0,
      "summary": "",
      "min_ranks": 0,
      "max_ranks": 0,
      "endpoint_kind": "",
      "metrics": [
        "latency_ns"
      ],
      "parameters": []
    }
  ]
})");
  Started started;
  (*started.mutable_facts())["path"] = "host";
  (*started.mutable_facts())["gid"] = "fe80::1";
  EXPECT_THAT(to_json(started, JsonLayout::kCompact),
              HasSubstr(R"("facts":{"gid":"fe80::1","path":"host"}})"));
}

TEST(Json, PrintsOnlyTheMemberOfAOneofThatIsSet) {
  Record record;
  record.mutable_note()->set_text("hello");
  const std::string json = to_json(record, JsonLayout::kCompact);
  EXPECT_THAT(json, HasSubstr(R"("note":{"severity":"","text":"hello"})"));
  EXPECT_THAT(json, Not(HasSubstr("final")));
}

// A locale as in Germany, made here because a test machine may have none installed.
class CommaDecimal : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Json, DoesNotDependOnTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimal));
  EXPECT_EQ(json_number(1234567.5), "1234567.5");
  KernelInfo info;
  info.set_revision(1234567);
  EXPECT_THAT(to_json(info, JsonLayout::kCompact), HasSubstr("1234567"));
  std::locale::global(before);
}

}  // namespace
}  // namespace railgauge

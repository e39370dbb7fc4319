#include "kernels/core/json.h"

#include <limits>
#include <locale>

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/record.pb.h"

namespace railgauge {
namespace {

TEST(Json, PrintsZerosAndEmptyListsAndNullForWhatIsAbsent) {
  Point point;
  point.set_p99(0);
  const std::string text = to_json(point, JsonLayout::kOneLine);
  EXPECT_NE(text.find(R"("metric": "", "meaning": "")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("message_bytes": 0,)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("p99": 0, "p999": null)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("facts": {}, "histogram": null, "samples": [])"), std::string::npos)
      << text;
}

TEST(Json, NeverPrintsNaNOrInfinity) {
  Point point;
  point.set_median(std::numeric_limits<double>::quiet_NaN());
  point.add_samples(std::numeric_limits<double>::infinity());
  const std::string text = to_json(point, JsonLayout::kOneLine);
  EXPECT_NE(text.find(R"("median": null)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("samples": [null])"), std::string::npos) << text;
}

TEST(Json, KeepsEveryDigitOfADoubleUnderACommaDecimalLocale) {
  struct CommaDecimal : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimal));
  Final final;
  final.set_cpu_seconds(12345.678901234567);
  const std::string text = to_json(final, JsonLayout::kOneLine);
  std::locale::global(before);
  EXPECT_NE(text.find(R"("cpu_seconds": 12345.678901234567)"), std::string::npos) << text;
}

TEST(Json, PrintsOnlyTheMemberOfAOneofThatIsSet) {
  Record record;
  record.mutable_note()->set_text("x");
  const std::string text = to_json(record, JsonLayout::kOneLine);
  EXPECT_EQ(text,
            R"({"key": null, "unix_time_seconds": 0, "note": {"severity": "", "text": "x"}})");
}

TEST(Json, SortsMapsAndEscapesWhatPeopleAndLibrariesWrite) {
  Started started;
  (*started.mutable_facts())["b"] = "tab\tquote\"back\\slash";
  (*started.mutable_facts())["a"] = "\xc2\xb5s";
  const std::string text = to_json(started, JsonLayout::kOneLine);
  EXPECT_NE(text.find("\"facts\": {\"a\": \"\xc2\xb5s\", "
                      "\"b\": \"tab\\u0009quote\\\"back\\\\slash\"}"),
            std::string::npos)
      << text;
}

TEST(Json, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(json_string("a\xff"
                        "b\xc3"),
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"");
  EXPECT_EQ(json_string("\xe0\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Json, IndentedTextIsReadBackByAnIndependentParserAsTheSameMessage) {
  KernelList list;
  list.set_schema_version(1);
  KernelInfo& kernel = *list.add_kernels();
  kernel.set_name("a.b");
  kernel.add_metrics("latency_ns");
  ParameterInfo& parameter = *kernel.add_parameters();
  parameter.set_name("depth");
  parameter.set_maximum(1e300);
  const std::string text = to_json(list);
  EXPECT_TRUE(text.starts_with("{\n  \"schema_version\": 1,\n  \"kernels\": [\n    {\n")) << text;
  KernelList read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &read).ok()) << text;
  EXPECT_EQ(read.SerializeAsString(), list.SerializeAsString());
}

}  // namespace
}  // namespace railgauge

// Gathers records, and prints CSV and the event stream.
#include "kernels/core/report/report.h"

#include <array>
#include <cmath>
#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// The fields of Point that CSV prints, in this order.
constexpr std::array kCsvPointFields{"metric",
                                     "meaning",
                                     "pair",
                                     "unit",
                                     "message_bytes",
                                     "sample_count",
                                     "median",
                                     "median_low",
                                     "median_high",
                                     "min",
                                     "max",
                                     "mean",
                                     "stddev",
                                     "p25",
                                     "p75",
                                     "p90",
                                     "p99",
                                     "p999",
                                     "lag1_autocorrelation",
                                     "effective_sample_count",
                                     "converged",
                                     "stop_reason",
                                     "warmup_count",
                                     "measure_ns",
                                     "synthetic",
                                     "verified",
                                     "throttled",
                                     "rate",
                                     "slot_p10",
                                     "slot_p1",
                                     "slot_ns",
                                     "longest_pause_ns",
                                     "pause_share",
                                     "p99_low",
                                     "p99_high",
                                     "p999_low",
                                     "p999_high",
                                     "rate_low",
                                     "rate_high"};

// A text as RFC 4180 has it: quoted where it holds a comma or a quote. Line ends are escaped.
std::string csv_text(const std::string& raw) {
  std::string text = printable(raw);
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// A field's value; empty for one that is absent or not finite.
std::string csv_field(const Point& point, const google::protobuf::FieldDescriptor& field) {
  using google::protobuf::FieldDescriptor;
  const auto& reflection = *point.GetReflection();
  if (field.has_presence() && !reflection.HasField(point, &field)) return {};
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = reflection.GetDouble(point, &field);
      return std::isfinite(value) ? fmt::format("{}", value) : std::string();
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(point, &field) ? "true" : "false";
    default:
      return csv_text(reflection.GetString(point, &field));
  }
}

}  // namespace

// https://no-color.org: any value of NO_COLOR but the empty one turns colour off.
bool wants_colour(bool is_terminal, const char* no_color, const char* term) {
  const auto text = [](const char* value) { return std::string_view(value ? value : ""); };
  return is_terminal && text(no_color).empty() && text(term) != "dumb";
}

// The order of the names is that of the enumeration.
Result<Format> parse_format(std::string_view text) {
  static const std::array<std::string, 4> kNames{"table", "json", "csv", "ndjson"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) return static_cast<Format>(i);
  return invalid("format {} is not {}{}", in_quotes(text), one_of(kNames),
                 did_you_mean(text, kNames));
}

void add_record(const Record& record, RunnerReport& report) {
  switch (record.body_case()) {
    case Record::kStarted:
      *report.mutable_started() = record.started();
      break;
    case Record::kPoint:
      *report.add_points() = record.point();
      break;
    case Record::kNote:
      *report.add_notes() = record.note();
      break;
    case Record::kFinal:
      report.set_outcome(record.final().outcome());
      report.set_reason(record.final().reason());
      *report.mutable_phases() = record.final().phases();
      break;
    case Record::BODY_NOT_SET:
      break;
  }
}

// One line for each point, whatever its metric.
std::string report_csv(const RunnerReport& report) {
  std::string out = "kernel,revision";
  for (const char* name : kCsvPointFields) out += fmt::format(",{}", name);
  out += '\n';
  for (const Point& point : report.points()) {
    out += fmt::format("{},{}", csv_text(report.kernel()), report.started().revision());
    for (const char* name : kCsvPointFields) {
      const auto* field = Point::descriptor()->FindFieldByName(name);
      RG_CHECK(field != nullptr);
      out += "," + csv_field(point, *field);
    }
    out += '\n';
  }
  return out;
}

// The record's JSON object with schema_version put in front.
std::string event_line(const Record& record) {
  return fmt::format("{{\"schema_version\":{},{}\n", kReportSchemaVersion,
                     to_json(record, JsonLayout::kCompact).substr(1));
}

}  // namespace railgauge

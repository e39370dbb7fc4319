// The report of a standalone run: gathered from its records, printed as table, JSON, CSV or events.
// Pure: the same records give the same text, whatever the locale.
#pragma once

#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Version of the JSON document and of the event stream.
inline constexpr std::uint32_t kReportSchemaVersion = 1;

// The forms of a report; parse_format() reads "table", "json", "csv", "ndjson". kInvalidArgument
// for another word.
enum class Format { kTable, kJson, kCsv, kNdjson };
Result<Format> parse_format(std::string_view text);

// Rates in bits or bytes per second, for tables alone.
enum class RateUnit { kBits, kBytes };

// Whether to print colours: on a terminal that can show them, unless NO_COLOR holds something.
// `term` is TERM. Absent variables are nullptr. Pure.
bool wants_colour(bool is_terminal, const char* no_color, const char* term);

// How a table looks.
struct TableStyle {
  RateUnit rate_unit = RateUnit::kBits;
  bool colour = false;  // only for a terminal
};

// Adds a record's content to the report.
void add_record(const Record& record, RunnerReport& report);

// The heading of a run's figures: memory kind, path and peer, and the reasons not to rely on them.
std::string report_head(const RunnerReport& report, const TableStyle& style);
// The heading and a section for each metric. The first line names memory kind and path. An absent
// figure is "-".
std::string report_table(const RunnerReport& report, const TableStyle& style);
// One header line, then one line for each point.
std::string report_csv(const RunnerReport& report);
// One line of the event stream, schema_version first, with its newline.
std::string event_line(const Record& record);

}  // namespace railgauge

// The report of a standalone run: gathered from its records, printed as table, JSON, CSV or events.
// Pure: the same records give the same text, whatever the locale.
#pragma once

#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Version of the JSON document and of the event stream.
inline constexpr std::uint32_t kReportSchemaVersion = 1;

// The forms of a report. parse_format() reads "table", "json", "csv" or "ndjson"; kInvalidArgument
// for any other word.
enum class Format { kTable, kJson, kCsv, kNdjson };
Result<Format> parse_format(std::string_view text);

// The unit of rates in tables: bits or bytes per second.
enum class RateUnit { kBits, kBytes };

// Reports whether to print colours: on a terminal that can show them, unless NO_COLOR is not empty.
// `term` is TERM. Absent variables are nullptr. Pure.
bool wants_colour(bool is_terminal, const char* no_color, const char* term);

// The look of a table.
struct TableStyle {
  RateUnit rate_unit = RateUnit::kBits;
  bool colour = false;  // only for a terminal
};

// Adds a record's content to the report.
void add_record(const Record& record, RunnerReport& report);

// Returns the heading of a run: memory kind, path, peer, and reasons not to rely on the figures.
std::string report_head(const RunnerReport& report, const TableStyle& style);
// Returns the heading and a section for each metric. The first line names memory kind and path. An
// absent figure is "-".
std::string report_table(const RunnerReport& report, const TableStyle& style);
// Returns a header line and one line for each point.
std::string report_csv(const RunnerReport& report);
// Returns one line of the event stream with its newline; schema_version comes first.
std::string event_line(const Record& record);

}  // namespace railgauge

// The report of a standalone run: gathered from its records, printed as table, JSON, CSV or events.
// Pure: the same records give the same text, whatever the locale.
#pragma once

#include <string>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

inline constexpr std::uint32_t kReportSchemaVersion = 1;

enum class Format { kTable, kJson, kCsv, kNdjson };
Result<Format> parse_format(std::string_view text);

enum class RateUnit { kBits, kBytes };

// Colour is for terminals that can show it, unless NO_COLOR holds something; `term` is TERM. Absent
// variables are nullptr. Pure.
bool wants_colour(bool is_terminal, const char* no_color, const char* term);

struct TableStyle {
  RateUnit rate_unit = RateUnit::kBits;
  bool colour = false;  // only for a terminal
};

// Takes over what the record says.
void add_record(const Record& record, RunnerReport& report);

// The heading of a run's figures: memory kind, path and peer, and the reasons not to rely on them.
std::string report_head(const RunnerReport& report, const TableStyle& style);
// The first line names memory kind and path. A figure that is absent is "-".
std::string report_table(const RunnerReport& report, const TableStyle& style);
// One header line, one line for each point.
std::string report_csv(const RunnerReport& report);
// One line of the event stream, schema_version first.
std::string event_line(const Record& record);

}  // namespace railgauge

// Reads a series from a file of any origin: lines of time and value, or of values alone.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::cli {

// In the order of time where every row has one, else in the order of the file.
struct SeriesFile {
  std::vector<double> values;      // NaN is a gap
  std::vector<std::size_t> rows;   // of each value: its row in the file, from 0, header not counted
  std::vector<std::string> times;  // as written; empty when there is no such column
  std::size_t gaps = 0;
  std::vector<std::string> notes;  // what was done about odd input, one line each
};
inline constexpr std::size_t kMaxSeriesRows = 20'000'000;

// Reads lines separated by comma, semicolon or tab, quoted or not, with or without a header, a byte
// order mark or carriage returns. Empty, "nan", "NA", "null" and infinite values are gaps. `name`
// is the file's name in messages. Errors: kInvalidArgument with the line for content that is no
// series, and for a file without any value.
Result<SeriesFile> read_series(std::istream& in, const std::string& name);

// Seconds (since 1970 for dates, in the number's own unit otherwise): "1700000000", "2024-05",
// "2024-05-17", "2024-05-17T12:30:00.5Z", "2024-05-17 12:30:00+02:00". Nothing for anything else.
std::optional<double> parse_series_time(std::string_view text);

// Whether the text is a date rather than a number.
bool is_calendar_time(std::string_view text);

}  // namespace railgauge::cli

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

// The rows of a file, in the order of time when every row has a time, else in the file's order.
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

// Parses a time into seconds (since 1970 for dates, else in the number's own unit): "1700000000",
// "2024-05", "2024-05-17", "2024-05-17T12:30:00.5Z", "2024-05-17 12:30:00+02:00". Absent for any
// other text.
std::optional<double> parse_series_time(std::string_view text);

// Reports whether the text is a date instead of a number.
bool is_calendar_time(std::string_view text);

}  // namespace railgauge::cli

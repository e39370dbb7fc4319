// The time column of a series from outside: a number, or a date with or without a time of day.
// Pure.
#pragma once

#include <optional>
#include <string_view>

namespace railgauge::cli {

// Seconds (since 1970 for dates, in the number's own unit otherwise): "1700000000", "2024-05",
// "2024-05-17", "2024-05-17T12:30:00.5Z", "2024-05-17 12:30:00+02:00". Nothing for anything else.
std::optional<double> parse_series_time(std::string_view text);

// Whether the text is a date rather than a number.
bool is_calendar_time(std::string_view text);

}  // namespace railgauge::cli

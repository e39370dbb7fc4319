// Times of the calendar, UTC: how the contract prints them, and how people write them. Pure; thread
// safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railgauge {

// "2026-11-20T12:00:00.250Z" from seconds since 1970; "" for 0, which means "not yet".
std::string rfc3339(double unix_seconds);

// The second that holds `unix_seconds` in another form of strftime(3), which ignores the locale's
// zone: "%Y%m%d-%H%M%S" is "20261120-120000". The result has at most 63 bytes.
std::string utc_text(double unix_seconds, const char* form);

// Seconds since 1970 of a date, then optionally a time of day and a zone, to the end of the text:
// "2026-11" (the month's first day), "2026-11-20", "2026-11-20T12:30", "2026-11-20 12:30:15.25Z",
// "2026-11-20T12:30:15+01:00". Without a zone it is UTC. Absent for any other text and for a day
// that the calendar does not have.
std::optional<double> parse_calendar(std::string_view text);

}  // namespace railgauge

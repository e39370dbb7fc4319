// Times of the calendar: as the contract prints them (RFC 3339, UTC, milliseconds), and as people
// write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railgauge {

// "2026-11-20T12:00:00.250Z" from seconds since 1970; "" for 0, which means "not yet". Pure; thread
// safe.
std::string rfc3339(double unix_seconds);

// Seconds since 1970 of a date, then optionally a time of day and a zone, to the end of the text:
// "2026-11" (the month's first day), "2026-11-20", "2026-11-20T12:30", "2026-11-20 12:30:15.25Z",
// "2026-11-20T12:30:15+01:00". Without a zone it is UTC. Absent for any other text and for a day
// that the calendar does not have. Pure; thread safe.
std::optional<double> parse_calendar(std::string_view text);

}  // namespace railgauge

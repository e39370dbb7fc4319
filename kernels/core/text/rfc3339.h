// Calendar times: as the contract prints them (RFC 3339, UTC, milliseconds), and as people write
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace railgauge {

// Formats seconds since 1970: "2026-11-20T12:00:00.250Z"; "" for 0, which means "not yet". Pure;
// thread safe.
std::string rfc3339(double unix_seconds);

// Parses a date with optional time of day and zone, to the end of the text, into seconds since
// 1970: "2026-11" (the month's first day), "2026-11-20", "2026-11-20T12:30", "2026-11-20
// 12:30:15.25Z", "2026-11-20T12:30:15+01:00". Without a zone it is UTC. Absent for any other text
// and for a day that does not exist. Pure; thread safe.
std::optional<double> parse_calendar(std::string_view text);

}  // namespace railgauge

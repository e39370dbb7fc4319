// Times as the contract prints them: RFC 3339, UTC, milliseconds.
#pragma once

#include <string>

namespace railgauge {

// "2026-11-20T12:00:00.250Z" from seconds since 1970; "" for 0, which means "not yet". Pure; thread
// safe.
std::string rfc3339(double unix_seconds);

}  // namespace railgauge

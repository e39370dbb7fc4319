// Sizes, durations and rates as text, independent of the process's locale. Internally sizes are
// bytes, durations nanoseconds and rates bytes per second. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

class ParameterInfo;  // kernels/core/base/record.proto

// Parses a size in bytes: "8", "64KiB", "1MB", "1.5 GiB". kB, MB, GB, TB are powers of 1000; KiB,
// MiB, GiB, TiB of 1024. The value must be whole bytes and at most kMaxBytes. Errors:
// kInvalidArgument.
Result<std::uint64_t> parse_bytes(std::string_view text);
inline constexpr std::uint64_t kMaxBytes = 1ULL << 53U;  // exact as a double too

// Parses a duration to nanoseconds: "5s", "20us", "1.5ms", "2min", "1h", "2d", "0". Must not be
// negative and at most kMaxDurationNs. Errors: kInvalidArgument.
Result<double> parse_duration_ns(std::string_view text);
inline constexpr double kMaxDurationNs = 366.0 * 86400e9;

// Parse a number as people write it in parameters: no "+" sign, no hexadecimal, no infinity, no
// thousands separator. Errors: kInvalidArgument.
Result<double> parse_number(std::string_view text);
Result<std::int64_t> parse_integer(std::string_view text);

// Returns the one text of a size that parses back to the same value: "64KiB", "1MB", "65537".
std::string canonical_bytes(std::uint64_t bytes);
// Returns the one text of a duration in ns that parses back to it: "20us", "1500us", "0s".
std::string canonical_duration(double ns);

// Formats a value by the parameter's type: sizes and durations in canonical form.
std::string value_text(const ParameterInfo& parameter, double value);

// Format for display; "-" when not finite. Figures have one decimal from 10 on, else two.
std::string format_bytes(double bytes);                  // "64 KiB", "1 MB", "65537 B"
std::string format_rate_bits(double bytes_per_second);   // "93.4 Gb/s", "940.0 Mb/s"
std::string format_rate_bytes(double bytes_per_second);  // "11.7 GB/s"
std::string format_rate_count(double per_second);        // "4.21 M/s"
std::string format_latency_ns(double ns);                // "850.0 ns", "1.23 us", "4.56 ms"
std::string format_count(double count);                  // "12,345"
std::string format_share(double share);                  // 0.934 is "93.4 %"

}  // namespace railgauge

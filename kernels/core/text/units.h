// Sizes, durations and rates as text. Never depends on the process's locale. Inside, sizes are
// bytes, durations nanoseconds and rates bytes per second. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

class ParameterInfo;  // kernels/core/base/record.proto

// A size in bytes from "8", "64KiB", "1MB", "1.5 GiB": kB, MB, GB, TB are powers of 1000, KiB, MiB,
// GiB, TiB of 1024. The value must be whole bytes and at most kMaxBytes. Errors: kInvalidArgument.
Result<std::uint64_t> parse_bytes(std::string_view text);
inline constexpr std::uint64_t kMaxBytes = 1ULL << 53U;  // exact as a double too

// Nanoseconds from "5s", "20us", "1.5ms", "2min", "1h", "0": not negative and at most
// kMaxDurationNs. Errors: kInvalidArgument.
Result<double> parse_duration_ns(std::string_view text);
inline constexpr double kMaxDurationNs = 366.0 * 86400e9;

// A number as people write it in parameters: no sign "+", no hexadecimal, no infinity, no thousands
// mark. Errors: kInvalidArgument.
Result<double> parse_number(std::string_view text);
Result<std::int64_t> parse_integer(std::string_view text);

// Text that parses back to the same value, one text for each value: "64KiB", "1MB", "65537";
// "20us", "1500us", "0s".
std::string canonical_bytes(std::uint64_t bytes);
// "20us", "1500us", "0s".
std::string canonical_duration(double ns);

// A value of the parameter's kind, as it is written: sizes and durations are canonical.
std::string value_text(const ParameterInfo& parameter, double value);

// For display; "-" for what is not finite. Figures have one decimal from 10 on, else two.
std::string format_bytes(double bytes);                  // "64 KiB", "1 MB", "65537 B"
std::string format_rate_bits(double bytes_per_second);   // "93.4 Gb/s", "940.0 Mb/s"
std::string format_rate_bytes(double bytes_per_second);  // "11.7 GB/s"
std::string format_rate_count(double per_second);        // "4.21 M/s"
std::string format_latency_ns(double ns);                // "850.0 ns", "1.23 us", "4.56 ms"
std::string format_count(double count);                  // "12,345"
std::string format_share(double share);                  // 0.934 is "93.4 %"

}  // namespace railgauge

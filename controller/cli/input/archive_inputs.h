// What the verbs about stored points read from flags.
#pragma once

#include <optional>
#include <string>

#include "controller/api/archive.pb.h"
#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// RUN and the filters; the limit is the verb's own. Errors: kInvalidArgument naming the flag.
Result<railgauge::api::PointsRequest> points_request(const Arguments& arguments);

// "24h" (ago), "2026-11-20", "2026-11-20T12:00:00Z": seconds since 1970. Errors: kInvalidArgument.
Result<double> parse_time(const std::string& text, double now_unix_seconds);

// The time in flag `name`; absent when it is not given.
Result<std::optional<double>> time_of(const Arguments& arguments, std::string_view name);

// The number in flag `name`, at least 0; absent when it is not given.
Result<std::optional<double>> number_of(const Arguments& arguments, std::string_view name);

// The series of an operand or flag. Errors: kInvalidArgument.
Result<std::uint32_t> series_number(const std::string& word);

}  // namespace railgauge::cli

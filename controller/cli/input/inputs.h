// Reads operands, flags and files for the verbs: node sets, suites, counts, times, filters of
// points. Every error is kInvalidArgument and names the flag or file.
#pragma once

#include <optional>
#include <string>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// The whole file, at most 1 MiB. Errors: kInvalidArgument with the path and the system's reason.
Result<std::string> read_file(const std::string& path);

// The node set of operand `index`, --nodes or --nodes-file; "" when none is given. Errors:
// kInvalidArgument when two are given or the file cannot be read or names nothing.
Result<std::string> node_set_of(const Arguments& arguments, std::size_t index);

// A word with a '/' or ending in .yaml or .yml is a file, read here; any other is a name in the
// controller's folder. Errors: kInvalidArgument.
Result<api::SuiteSource> suite_source(const std::string& word);

// The suite of operand 0, of which --slice takes a slice (suites/README.md).
Result<api::SuiteSource> suite_to_run(const Arguments& arguments);

// A count of at least 1 from flag `name`; `otherwise` when absent. Errors: kInvalidArgument.
Result<std::uint32_t> count_of(const Arguments& arguments, std::string_view name,
                               std::uint32_t otherwise);

// Seconds of the duration in flag `name`. Errors: kInvalidArgument.
Result<double> seconds_of(const Arguments& arguments, std::string_view name, double otherwise);

// The request for stored points from RUN and the filter flags. The caller sets the limit.
Result<api::PointsRequest> points_request(const Arguments& arguments);

// "24h" (ago), "2026-11-20", "2026-11-20T12:00:00Z": seconds since 1970. Errors: kInvalidArgument.
Result<double> parse_time(const std::string& text, double now_unix_seconds);

// The time in flag `name`; absent when it is not given.
Result<std::optional<double>> time_of(const Arguments& arguments, std::string_view name);

// The number in flag `name`, at least 0; absent when it is not given.
Result<std::optional<double>> number_of(const Arguments& arguments, std::string_view name);

// The series of an operand or flag. Errors: kInvalidArgument.
Result<std::uint32_t> series_number(const std::string& word);

}  // namespace railgauge::cli

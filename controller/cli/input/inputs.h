// Reads operands, flags and files for the verbs: node sets, suites, counts, times, filters of
// points. Every error is kInvalidArgument and names the flag or file.
#pragma once

#include <optional>
#include <string>

#include "controller/api/archive.pb.h"
#include "controller/api/control.pb.h"
#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// Reads a whole file of at most 1 MiB. Errors: kInvalidArgument with path and system error.
Result<std::string> read_file(const std::string& path);

// Returns the node set from operand `index`, --nodes or --nodes-file, with the labels of -l behind
// it; "" when none is given. Errors: kInvalidArgument when two are given, the file is unreadable or
// names no node, or -l has no labels.
Result<std::string> node_set_of(const Arguments& arguments, std::size_t index);
// The same where no operand is a node set.
Result<std::string> node_set_of(const Arguments& arguments);

// Adds the labels of -l to a node set. Errors: kInvalidArgument.
Result<std::string> and_labels(const Arguments& arguments, std::string node_set);

// Returns the suite of a word: a word with a '/' or ending in .yaml or .yml is a file, which is
// read here; any other word is a name in the controller's folder. Errors: kInvalidArgument.
Result<api::SuiteSource> suite_source(const std::string& word);

// Returns the suite of operand 0, cut to the slice of --slice (suites/README.md).
Result<api::SuiteSource> suite_to_run(const Arguments& arguments);

// Returns a count of at least 1 from flag `name`; `otherwise` when absent. Errors:
// kInvalidArgument.
Result<std::uint32_t> count_of(const Arguments& arguments, std::string_view name,
                               std::uint32_t otherwise);

// Returns the duration of flag `name` in seconds; `otherwise` when absent. Errors:
// kInvalidArgument.
Result<double> seconds_of(const Arguments& arguments, std::string_view name, double otherwise);

// Makes the request for stored points from RUN and the filter flags. The caller sets the limit.
Result<api::PointsRequest> points_request(const Arguments& arguments);

// Parses "24h" (ago), "2026-11-20" or "2026-11-20T12:00:00Z" into seconds since 1970. Errors:
// kInvalidArgument.
Result<double> parse_time(const std::string& text, double now_unix_seconds);

// Returns the time of flag `name`; absent when the flag is not given.
Result<std::optional<double>> time_of(const Arguments& arguments, std::string_view name);

// Likewise; "24h" ago is by the controller's clock, which made the times of what it stored. By this
// host's clock where the controller does not answer.
Result<std::optional<double>> time_of(Session& session, const Arguments& arguments,
                                      std::string_view name);

// Returns the number of flag `name`, at least 0; absent when the flag is not given.
Result<std::optional<double>> number_of(const Arguments& arguments, std::string_view name);

// Returns the series number of an operand or flag. Errors: kInvalidArgument.
Result<std::uint32_t> series_number(const std::string& word);

}  // namespace railgauge::cli

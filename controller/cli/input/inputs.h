// What a verb reads from operands, flags and files: node sets and suites.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// The node set of operand `index`, --nodes or --nodes-file; "" when none is given. Errors:
// kInvalidArgument when two are given or the file cannot be read or names nothing.
Result<std::string> node_set_of(const Arguments& arguments, std::size_t index);

// A word with a '/' or ending in .yaml or .yml is a file, read here; any other is a name in the
// controller's folder. Errors: kInvalidArgument.
Result<railgauge::api::SuiteSource> suite_source(const std::string& word);

// The suite of operand 0, of which --slice takes a slice (suites/README.md).
Result<railgauge::api::SuiteSource> suite_to_run(const Arguments& arguments);

// A count of at least 1 from flag `name`; `otherwise` when absent. Errors: kInvalidArgument.
Result<std::uint32_t> count_of(const Arguments& arguments, std::string_view name,
                               std::uint32_t otherwise);

// Seconds of the duration in flag `name`. Errors: kInvalidArgument.
Result<double> seconds_of(const Arguments& arguments, std::string_view name, double otherwise);

}  // namespace railgauge::cli

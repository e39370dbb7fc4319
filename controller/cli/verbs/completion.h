// Names for a person who types: completion for bash, zsh and fish, generated from the grammar:
// every new verb and flag is completed.
#pragma once

#include <string>
#include <vector>

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// Returns the kinds of the verb's operands: for "[RUN|FINDING] NODE..." RUN|FINDING and NODE, for A
// and B the kind of what the verb compares.
std::vector<std::string> kinds_of(const Verb& verb);

// Return the script to source. While a person types, the script requests names of suites, nodes,
// runs, kernels, metrics, labels, endpoints, schedules, findings, upgrades, series and kinds of
// events from the controller, for at most a second each list.
std::string bash_completion(const Grammar& grammar);
std::string zsh_completion(const Grammar& grammar);
std::string fish_completion(const Grammar& grammar);

// The script of `completion bash|zsh|fish`. Errors: kInvalidArgument for other shells.
Result<std::string> completion_for(const Grammar& grammar, const std::string& shell);

// Checks --kernel, --metric, --endpoint and --stack of a verb that found nothing. Errors:
// kInvalidArgument with the nearest name for one that no attached node, or none of its kernels,
// has.
Status check_filters(Session& session, const Arguments& arguments);
// Checks --run of a verb that found nothing. Errors: kInvalidArgument with the nearest run for one
// that the controller lacks and that is near one that it has.
Status check_run(Session& session, const std::string& run_id);

// Returns the error with `; did you mean "..."?` for the first operand that is a name of a run,
// suite, node, kernel, schedule, finding or upgrade, that the controller lacks, and that is near
// one that it has; of one near none with the verb that lists the names. Other errors stay as they
// are, and so do those of a controller that does not answer.
Error with_closest_name(Session& session, const Arguments& arguments, Error error);

}  // namespace railgauge::cli

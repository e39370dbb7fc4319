// Completion for bash and zsh, generated from the grammar: every new verb and flag is completed.
#pragma once

#include <string>

#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// Return the script to source. While a person types, the script requests names of suites, nodes,
// runs, kernels and schedules from the controller, for at most a second each time.
std::string bash_completion(const Grammar& grammar);
std::string zsh_completion(const Grammar& grammar);

// The script of `completion bash|zsh`. Errors: kInvalidArgument for other shells.
Result<std::string> completion_for(const Grammar& grammar, const std::string& shell);

}  // namespace railgauge::cli

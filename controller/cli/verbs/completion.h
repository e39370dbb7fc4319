// Completion for bash and zsh, written from the grammar: what is added there is completed here.
#pragma once

#include <string>

#include "controller/cli/input/arguments.h"

namespace railgauge::cli {

// Scripts to be sourced. Names of suites, nodes, runs, kernels and schedules are asked of the
// controller while a person types, at most a second each time.
std::string bash_completion(const Grammar& grammar);
std::string zsh_completion(const Grammar& grammar);

// The script of `completion bash|zsh`. Errors: kInvalidArgument for other shells.
Result<std::string> completion_for(const Grammar& grammar, const std::string& shell);

}  // namespace railgauge::cli

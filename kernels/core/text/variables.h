// The environment variables that Railgauge's programs read. All begin with RAILGAUGE_.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace railgauge {

// Returns the names of this process's variables. Not beside a call that changes them.
std::vector<std::string> variable_names();

// Returns a line for each of `names` that begins with RAILGAUGE_ and that no program of Railgauge
// reads, with the closest one that some program reads: a misspelt setting has no effect. Pure.
std::vector<std::string> unknown_variables(std::span<const std::string> names);

}  // namespace railgauge

// THE list of kernels: what `railgauge-runner --list` prints and what a task may name.
#pragma once

#include <span>
#include <string_view>

#include "kernels/core/kernel.h"

namespace railgauge {

// Every kernel of this build, sorted by name. Lives as long as the process.
std::span<const KernelRow> catalog();

// The row of `name` ("verbs.write_lat"), or nullptr.
const KernelRow* find_kernel(std::string_view name);

}  // namespace railgauge

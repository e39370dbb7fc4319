// The reference pages of kernels and parameters, rendered from the kernels' declarations.
#pragma once

#include <span>
#include <string>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// Returns the kernel's number of ranks: "1", "2 to 64", "2 or more". Pure.
std::string ranks_text(const KernelInfo& kernel);

// Renders deploy/docs/reference/kernels.md: a table for each family with meaning, metrics and
// units, ranks, endpoint and parameters of each kernel. `kernels` are sorted by name; the part
// before the point is the family. CHECKs that the family has a description. Pure.
std::string kernel_page(std::span<const KernelInfo> kernels);

// Renders deploy/docs/reference/parameters.md: each parameter with meaning, unit, default, bounds
// and the kernels that share the declaration. A name with several declarations has a row for each.
// Pure.
std::string parameter_page(std::span<const KernelInfo> kernels);

}  // namespace railgauge

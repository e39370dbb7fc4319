// The reference pages of kernels and parameters, rendered from the kernels' declarations.
#pragma once

#include <span>
#include <string>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// The ranks that it takes: "1", "2 to 64", "2 or more". Pure.
std::string ranks_text(const KernelInfo& kernel);

// Markdown of deploy/docs/reference/kernels.md: a table for each family, with meaning, metrics and
// their units, ranks, endpoint and parameters of each kernel. `kernels` are sorted by name, and the
// part of a name before its point is its family; CHECKs that the family has a description. Pure.
std::string kernel_page(std::span<const KernelInfo> kernels);

// Markdown of deploy/docs/reference/parameters.md: each parameter with the kernels that declare it
// so, its meaning, unit, default and bounds. A name that kernels declare differently has a row for
// each declaration. Pure.
std::string parameter_page(std::span<const KernelInfo> kernels);

}  // namespace railgauge

// `--list` and `--describe`: the catalog for people and, as JSON, for the agent and scripts. Pure.
#pragma once

#include <span>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

// All kernels, parameters included; schema_version set.
KernelList kernel_list(std::span<const KernelRow> rows);
// Name and summary, one kernel a line.
std::string kernel_list_table(const KernelList& list);
// Everything that one kernel declares.
std::string kernel_description(const KernelInfo& kernel);
// The row of that name; kInvalidArgument with "did you mean" when there is none.
Result<const KernelRow*> find_row(std::span<const KernelRow> rows, std::string_view name);

}  // namespace railgauge

// `--list` and `--describe`: the catalog for people and, as JSON, for the agent and scripts. Pure.
#pragma once

#include <span>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

// All kernels with their parameters; schema_version is set.
KernelList kernel_list(std::span<const KernelRow> rows);
// Name and summary of each kernel, one a line, in the order of the list.
std::string kernel_list_table(const KernelList& list);
// One kernel as text: its summary, revision, ranks, endpoint and metrics, then a table of its
// parameters.
std::string kernel_description(const KernelInfo& kernel);
// The row of that name; kInvalidArgument with "did you mean" when there is none.
Result<const KernelRow*> find_row(std::span<const KernelRow> rows, std::string_view name);

}  // namespace railgauge

// `--list` and `--describe`: the catalog for people and, as JSON, for the agent and scripts. Pure.
#pragma once

#include <span>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

// Returns all kernels with their parameters; schema_version is set.
KernelList kernel_list(std::span<const KernelRow> rows);
// Returns name and summary of each kernel, one a line, in the order of the list.
std::string kernel_list_table(const KernelList& list);
// Returns one kernel as text: its summary, revision, ranks, endpoint and metrics, then a table of
// its parameters.
std::string kernel_description(const KernelInfo& kernel);
// Returns the row of that name. kInvalidArgument, with "did you mean": no such row.
Result<const KernelRow*> find_row(std::span<const KernelRow> rows, std::string_view name);

}  // namespace railgauge

// The tools that assistants are offered: names, descriptions, schemas of their arguments, and a
// call of one.
#pragma once

#include <string>
#include <variant>

#include "controller/cli/mcp/json_rpc.h"
#include "controller/cli/mcp/reads.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// Returns the text that an assistant reads once about all tools.
std::string instructions();
// Returns the answer of tools/list, as JSON: each tool with its schemas. Equal on every call.
std::string tools_text();

// Carries out tools/call and returns its result as JSON. A call that fails, as for a run that the
// controller lacks, is a result too, which says so. Refused are a tool that there is not, and
// arguments that its schema does not allow.
tl::expected<std::string, std::string> call_tool(Reads& reads,
                                                 const google::protobuf::Struct& parameters);

}  // namespace railgauge::cli::mcp

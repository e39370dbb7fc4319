// The facts that describe one node, without those of thousands of others.
#pragma once

#include <string>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// NodeRow::described of the node that has the name now; empty where there is none.
Result<TextMap> read_described(Connection& connection, const std::string& name);

}  // namespace railgauge::store

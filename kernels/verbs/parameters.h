// The parameters that verbs kernels share, declared once.
#pragma once

#include <string>

#include "kernels/core/info_builder.h"

namespace railgauge::verbs {

// gid_index, mtu, inline_bytes, qp_timeout, retry_count, stall_timeout.
void add_connection(InfoBuilder& builder, std::string default_inline_bytes);
// added_cost_fraction: a test control.
void add_added_cost(InfoBuilder& builder, const std::string& summary);

}  // namespace railgauge::verbs

// The support bundle of a run, a finding or a node, table by table: everything except the points,
// under names that make sense without Railgauge.
#pragma once

#include <cstddef>
#include <string_view>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The part with all names of all nodes, in one column. Its reader recognizes names in texts by it
// and never writes it out.
inline constexpr std::string_view kKnownNames = "known_names";

// Reads one part, from 0. `subject` is looked up as a run's id, a finding's id, and a node's id or
// name, in this order. kNotFound: no such subject, or no such part.
Result<BundlePartRow> read_bundle_part(Connection& connection, std::string_view subject,
                                       std::size_t part);

}  // namespace railgauge::store

// The support archive of a run, a finding or a node, table by table: everything except the points,
// under names that can be read without Railgauge.
#pragma once

#include <cstddef>
#include <string_view>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The part with all names of all nodes, in one column: to be recognized in texts, never written.
inline constexpr std::string_view kKnownNames = "known_names";

// `subject` is a run's id, a finding's id, or a node's id or name, in this order; parts are counted
// from 0. kNotFound: there is no such subject, or no such part.
Result<BundlePartRow> read_bundle_part(Connection& connection, std::string_view subject,
                                       std::size_t part);

}  // namespace railgauge::store

// What a run, a finding or a node is handed on with, table by table: everything but the points
// themselves, under names that need no Railgauge to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "controller/store/rows/rows.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// The part with all names of all nodes, in one column: to be recognized in texts, never written.
inline constexpr std::string_view kKnownNames = "known_names";

// `subject` is a run's id, a finding's id, or a node's id or name, in this order; parts are counted
// from 0. kNotFound: there is no such subject, or no such part.
Result<BundlePartRow> read_bundle_part(Connection& connection, std::string_view subject,
                                       std::size_t part);

}  // namespace railgauge::store

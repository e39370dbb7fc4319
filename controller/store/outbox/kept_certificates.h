// Certificates that were made for an archive: the document of a run or an upgrade, kept as it was
// when its data was new. The writers run inside the writer's transaction, the readers inside a
// snapshot. Times are seconds since 1970 (UTC).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Stores the document of a run or an upgrade. A later one of the same subject takes its place.
Status write_certificate(Connection& connection, std::string_view subject, double made_at,
                         std::string_view digest, std::string_view text);

// Returns runs that were judged since `since`, and judged upgrades, that have no certificate yet:
// the newest `limit` of each.
Result<std::vector<std::string>> read_uncertified(Connection& connection, double since,
                                                  std::uint32_t limit);

}  // namespace railgauge::store

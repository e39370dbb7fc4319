// Packages of distributions with rpm, read from its SQLite database without running, locking or
// writing anything. Older formats (Berkeley DB, ndb) are unknown, with the format as the reason.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/inventory/sources/node_files.h"

namespace railgauge::agent {

struct RpmPackage {
  std::string name{};
  std::string version{};  // "2.21.5-1": version and release
};

// Parses a header as stored in the database; it may be cut off behind its first strings. Absent for
// other bytes. Pure.
std::optional<RpmPackage> parse_rpm_header(std::string_view bytes);

using PackageFact = Fact<std::map<std::string, std::string>>;
// Reads at most `most` packages whose name satisfies `is_wanted`. Absent: the node has no rpm.
PackageFact read_rpm(const NodeFiles& files, const std::function<bool(std::string_view)>& is_wanted,
                     std::size_t most);

}  // namespace railgauge::agent

// Packages of distributions with rpm, from its SQLite database: read without running, locking or
// writing anything. Older formats (Berkeley DB, ndb) are named as such.
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

// Parses a header as the database has it, which may be cut off behind its first strings. Absent for
// bytes that are none. Pure.
std::optional<RpmPackage> parse_rpm_header(std::string_view bytes);

using PackageFact = Fact<std::map<std::string, std::string>>;
// Absent: there is no rpm. At most `most` of those whose names `is_wanted` takes.
PackageFact read_rpm(const NodeFiles& files, const std::function<bool(std::string_view)>& is_wanted,
                     std::size_t most);

}  // namespace railgauge::agent

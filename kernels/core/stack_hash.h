// The fingerprint of a stack: everything on a node that an upgrade changes, as ordered maps of
// names to values. Equal maps have equal fingerprints on every machine. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace railgauge {

// Marks a part that could not be read. It neither equals another value nor counts as a change.
inline constexpr std::string_view kUnknownPart = "unknown";

// Returns 16 hexadecimal digits: FNV-1a of "name=value" lines in the map's order. For recognition,
// not for security.
std::string stack_hash(const std::map<std::string, std::string>& part);
// Returns the hash of both parts together.
std::string stack_hash(const std::map<std::string, std::string>& versions,
                       const std::map<std::string, std::string>& settings);

}  // namespace railgauge

// The fingerprint of a stack. A stack is everything that an upgrade changes on a node, as ordered
// maps of names to values. Two nodes with the same words have the same fingerprint, on every
// machine. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace railgauge {

// Marks a part that could not be read. It is neither equal to another value nor a change to it.
inline constexpr std::string_view kUnknownPart = "unknown";

// 16 hexadecimal digits: FNV-1a of "name=value" lines in the map's order. For recognising, not for
// security.
std::string stack_hash(const std::map<std::string, std::string>& part);
// The hash of the two parts together.
std::string stack_hash(const std::map<std::string, std::string>& versions,
                       const std::map<std::string, std::string>& settings);

}  // namespace railgauge

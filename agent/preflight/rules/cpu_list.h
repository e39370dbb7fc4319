// Linux's lists of processors, "0-55,112-167". Pure.
#pragma once

#include <set>
#include <string_view>

namespace railgauge::agent {

inline constexpr unsigned kMaxProcessor = 65535;

// Parses a list. Skips entries that do not parse; cuts a range at kMaxProcessor.
std::set<unsigned> processors_of(std::string_view list);
bool lists_meet(std::string_view a, std::string_view b);

}  // namespace railgauge::agent

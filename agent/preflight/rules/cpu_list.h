// Linux' lists of processors, "0-55,112-167". Pure.
#pragma once

#include <set>
#include <string_view>

namespace railgauge::agent {

inline constexpr unsigned kMaxProcessor = 65535;

// An entry without a meaning is left out; a range that is too large ends at kMaxProcessor.
std::set<unsigned> processors_of(std::string_view list);
bool lists_meet(std::string_view a, std::string_view b);

}  // namespace railgauge::agent

// Help of programs for a terminal of 80 columns. Pure; thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace railgauge {

inline constexpr std::size_t kHelpColumns = 80;

// Returns a help text of CLI11 with no line above kHelpColumns, save one of a single longer word.
// Lines are cut at blanks. The rest of an option's line goes below its description, the rest of
// another line to the first column.
std::string folded_help(std::string_view help);

}  // namespace railgauge

// States of a preflight check, for the agent, the store and the CLI.
#pragma once

#include <array>
#include <string_view>

namespace railgauge {

// From the best to the worst. A check that could not look is worse than a warning: missing data is
// never a pass. A waived check says nothing, so it is worst only where it is alone.
inline constexpr std::array<std::string_view, 6> kCheckStates{"waived",  "pass",  "warn",
                                                              "unknown", "error", "fail"};

}  // namespace railgauge

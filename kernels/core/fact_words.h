// Words in facts that others than people read.
#pragma once

#include <string_view>

namespace railgauge {

// Fact `line_rate_check` of a figure between a port and itself, which never sees the wire.
inline constexpr std::string_view kBothEndsAreOnePort = "both ends are one port";

}  // namespace railgauge

// Words of facts that programs read, not only people. They are database content.
#pragma once

#include <string_view>

namespace railgauge {

// The fact `line_rate_check` of a figure between a port and itself, whose bytes never reach the
// wire.
inline constexpr std::string_view kBothEndsAreOnePort = "both ends are one port";

}  // namespace railgauge

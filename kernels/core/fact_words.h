// Values of facts that programs read too, not only people. The database contains them.
#pragma once

#include <string_view>

namespace railgauge {

// The fact `line_rate_check` when one port is both ends: its bytes never reach the wire.
inline constexpr std::string_view kBothEndsAreOnePort = "both ends are one port";

}  // namespace railgauge

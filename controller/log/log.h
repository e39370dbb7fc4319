// The log of controller and agent on stderr.
#pragma once

#include <string>

namespace railgauge {

// Makes the program's log: lines of at least `level` (debug, info, warn or error), in `pattern` of
// spdlog, where %* is the message. A message is one line of visible characters, whatever peers,
// files and libraries put into it: no text can forge a line or steer a terminal. Times are UTC if
// `utc`. Call it before other threads exist.
void set_up_log(const std::string& name, const std::string& level, const std::string& pattern,
                bool utc);

}  // namespace railgauge

// The log of a task's runner on stderr, whose end the agent keeps for the task's final record.
#pragma once

#include <string_view>

namespace railgauge {

// Writes a line of level error in the form of the agent's log (kernels/core/text/log_line.h). The
// agent hands over RAILGAUGE_LOG_FORMAT, `text` or `json`, and RAILGAUGE_LOG_SUBJECT, "run R task T
// attempt N rank N", which the line begins with. Thread safe while nobody changes the environment.
void log_error(std::string_view message);

}  // namespace railgauge

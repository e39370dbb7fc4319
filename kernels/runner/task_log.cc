#include "kernels/runner/task_log.h"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "kernels/core/text/log_line.h"

namespace railgauge {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void log_error(std::string_view message) {
  const std::string_view subject = variable("RAILGAUGE_LOG_SUBJECT");
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string text = fmt::format("{}{}{}", subject, subject.empty() ? "" : ": ", message);
  fmt::print(stderr, "{}",
             log_line("runner", "error", text, now, variable("RAILGAUGE_LOG_FORMAT") == "json"));
}

}  // namespace railgauge

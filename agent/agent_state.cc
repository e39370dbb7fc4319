// The agent's reports to the service manager.
#include <string>

#include <fmt/format.h>

#include "agent/agent.h"

namespace railgauge::agent {

std::string Agent::state_text() const {
  const std::size_t tasks = supervisor_.size();
  const std::string work = tasks == 0   ? "no task runs"
                           : tasks == 1 ? "1 task runs"
                                        : fmt::format("{} tasks run", tasks);
  if (delivery_.is_attached())
    return fmt::format("attached to {} as {}; {}", options_.link.controller, options_.name, work);
  return fmt::format("not attached to {}{}{}; {}", options_.link.controller,
                     lost_reason_.empty() ? "" : ": ", lost_reason_, work);
}

void Agent::report_start() {
  if (options_.manager != nullptr) options_.manager->ready(state_text());
}

void Agent::report_stop() {
  if (options_.manager != nullptr) options_.manager->stopping("stopping; " + state_text());
}

void Agent::report_life(double now_ns) {
  if (options_.manager != nullptr && stop_ns_ == 0) options_.manager->alive(now_ns, state_text());
}

}  // namespace railgauge::agent

// The agent's reports to the service manager, and which controller it obeys.
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "agent/agent.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {

std::string Agent::state_text() const {
  const std::size_t tasks = supervisor_.size();
  const std::string work = tasks == 0   ? "no task runs"
                           : tasks == 1 ? "1 task runs"
                                        : fmt::format("{} tasks run", tasks);
  if (delivery_.is_attached())
    return fmt::format("attached to {} as {}; {}", link_->controller(), options_.name, work);
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

void Agent::on_lost(const LinkEvent& event) {
  delivery_.lost();
  metrics_.set_connected(false);
  if (monotonic_now_ns() >= inventory_ns_) refresh_inventory();
  send_hello();
  if (stop_ns_ > 0 || event.reason == lost_reason_) return;  // repeated every few seconds
  lost_reason_ = event.reason;
  if (event.permanent)
    spdlog::error("controller {}: {}; somebody has to act, tried again rarely",
                  options_.link.controller, event.reason);
  else
    spdlog::warn("controller {}: {}; tried again until it answers", options_.link.controller,
                 event.reason);
}

// A frozen controller may wake on a stream that it opened before another one took over.
Status Agent::check_generation(const api::ControllerMessage& message) {
  if (message.has_prepare())
    return generations_->take(message.prepare().generation(), link_->controller());
  if (message.has_go()) return generations_->take(message.go().generation(), link_->controller());
  return {};
}

}  // namespace railgauge::agent

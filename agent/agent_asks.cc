// The agent's requests to others on its node: its runner for kernels, its worker for preflights.
#include <ctime>
#include <utility>

#include <spdlog/spdlog.h>

#include "agent/agent.h"
#include "agent/tasks/kernel_list.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
constexpr double kSecondNs = 1e9;
constexpr double kKernelsNs = 30 * kSecondNs;
constexpr double kListSeconds = 5;
}  // namespace

// An answer that the link cannot take is dropped: whoever asked has a deadline, and asks again.
void Agent::take_preflights() {
  for (api::PreflightAnswer& answer : preflights_->take()) {
    metrics_.set_preflight(answer.report(), static_cast<double>(std::time(nullptr)));
    shown_is_kept_ = false;
    api::AgentMessage message;
    *message.mutable_preflight() = std::move(answer);
    link_->send(std::move(message));
    works();
  }
}

void Agent::load_kernels() {
  kernels_ns_ = monotonic_now_ns() + kKernelsNs;
  auto list = list_kernels(options_.supervisor.task.runner, kListSeconds);
  if (!list)
    return spdlog::error("no kernels: {}; tried again every {} s, --runner names the program",
                         list.error().message, kKernelsNs / kSecondNs);
  metrics_.set_kernels(*list);
  *hello_.mutable_kernels() = std::move(*list->mutable_kernels());
}

}  // namespace railgauge::agent

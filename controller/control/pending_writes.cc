#include "controller/control/pending_writes.h"

#include <utility>

#include <spdlog/spdlog.h>

namespace railgauge::run {

bool is_busy(const Status& status) {
  return !status && (status.error().code == Code::kResourceExhausted ||
                     status.error().code == Code::kUnavailable);
}

void PendingWrites::save(Write write) {
  waiting_.push_back(std::move(write));
  retry();
}

void PendingWrites::retry() {
  while (!waiting_.empty()) {
    const Status written = waiting_.front()();
    if (is_busy(written)) return;
    if (!written) spdlog::error("not stored: {}", written.error().message);
    waiting_.pop_front();
  }
}

}  // namespace railgauge::run

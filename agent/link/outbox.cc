#include "agent/link/outbox.h"

#include "kernels/core/base/result.h"

namespace railgauge::agent {

bool Outbox::push(api::AgentMessage message) {
  const std::size_t bytes = message.ByteSizeLong();
  if (messages_.size() >= kMaxMessages || bytes_ + bytes > kMaxBytes) return false;
  bytes_ += bytes;
  messages_.push_back({std::move(message), bytes});
  return true;
}

void Outbox::written() {
  RG_CHECK(!messages_.empty());
  bytes_ -= messages_.front().bytes;
  messages_.pop_front();
}

void Outbox::clear() {
  messages_.clear();
  bytes_ = 0;
}

}  // namespace railgauge::agent

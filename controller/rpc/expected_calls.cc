#include "controller/rpc/expected_calls.h"

namespace railgauge::rpc {

void ExpectedCalls::expect(const std::string& name) {
  const std::lock_guard lock(mutex_);
  expected_.insert(name);
}

bool ExpectedCalls::begin(const std::string& name) {
  const std::lock_guard lock(mutex_);
  expected_.erase(name);
  return !given_up_.contains(name);
}

bool ExpectedCalls::has_begun(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (expected_.erase(name) == 0) return !given_up_.contains(name);
  given_up_.insert(name);
  order_.push_back(name);
  if (order_.size() > kMostGivenUp) {
    given_up_.erase(order_.front());
    order_.pop_front();
  }
  return false;
}

}  // namespace railgauge::rpc

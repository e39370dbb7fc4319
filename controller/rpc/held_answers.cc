#include "controller/rpc/held_answers.h"

#include <vector>

namespace railgauge::rpc {

std::optional<HeldAnswers::Held> HeldAnswers::hold(const std::string& owner, std::size_t bytes,
                                                   std::function<void()> cancel, double now) {
  if (owner.empty()) return Held();
  const std::lock_guard lock(mutex_);
  const auto found = bytes_of_.find(owner);
  const std::size_t before = found == bytes_of_.end() ? 0 : found->second;
  const std::size_t taken = bytes + kCallBytes;
  if (before > 0 && before + taken > kMaxBytes) return std::nullopt;
  bytes_of_[owner] = before + taken;
  answers_.emplace(
      ++last_, Answer{.owner = owner, .bytes = taken, .since = now, .cancel = std::move(cancel)});
  return std::optional<Held>(std::in_place, this, last_);
}

bool HeldAnswers::is_full(const std::string& owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = bytes_of_.find(owner);
  return found != bytes_of_.end() && found->second + kCallBytes > kMaxBytes;
}

void HeldAnswers::release(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto answer = answers_.find(number);
  const auto total = bytes_of_.find(answer->second.owner);
  total->second -= answer->second.bytes;
  if (total->second == 0) bytes_of_.erase(total);
  answers_.erase(answer);
}

// An answer is alive while it is entered, and none leaves while the lock is held.
std::size_t HeldAnswers::cancel_overdue(double now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> overdue;
  for (const auto& [number, answer] : answers_) {
    if (now - answer.since < kMaxSeconds) break;
    if (!answer.is_cancelled) overdue.push_back(number);
  }
  for (const std::uint64_t number : overdue) {
    const auto answer = answers_.find(number);
    if (answer == answers_.end()) continue;
    answer->second.is_cancelled = true;
    const std::function<void()> cancel = answer->second.cancel;
    cancel();
  }
  return overdue.size();
}

std::size_t HeldAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [owner, bytes] : bytes_of_) sum += bytes;
  return sum;
}

}  // namespace railgauge::rpc

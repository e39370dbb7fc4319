#include "controller/mirror/archive_gate.h"

namespace railgauge::mirror {

void ArchiveGate::hold(Act act, double now) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_late_) {
      waiting_.push_back({.number = ++count_, .since = now, .act = std::move(act)});
      return;
    }
  }
  act();
}

std::uint64_t ArchiveGate::held() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() ? 0 : count_;
}

// The count was taken before the state was read, so that all acts up to it are behind `newest`.
void ArchiveGate::note(std::uint64_t held, std::int64_t newest) {
  const std::lock_guard lock(mutex_);
  if (held > 0 && (marks_.empty() || marks_.back().first < held)) marks_.emplace_back(held, newest);
}

// Acts run without the lock: they post to another thread, whose queue has a lock of its own.
void ArchiveGate::passed(std::int64_t through) {
  std::deque<Waiting> released;
  {
    const std::lock_guard lock(mutex_);
    while (!marks_.empty() && marks_.front().second <= through) {
      for (; !waiting_.empty() && waiting_.front().number <= marks_.front().first;
           waiting_.pop_front())
        released.push_back(std::move(waiting_.front()));
      marks_.pop_front();
    }
  }
  for (const Waiting& one : released) one.act();
}

void ArchiveGate::caught_up() {
  const std::lock_guard lock(mutex_);
  is_late_ = false;
}

// The acts themselves stay, and are counted anew at the next look.
void ArchiveGate::forget() {
  const std::lock_guard lock(mutex_);
  marks_.clear();
}

void ArchiveGate::tick(double now) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty() || now - waiting_.front().since < most_seconds_) return;
  }
  release_all();
}

void ArchiveGate::release_all() {
  std::deque<Waiting> released;
  {
    const std::lock_guard lock(mutex_);
    is_late_ = true;
    released.swap(waiting_);
  }
  for (const Waiting& one : released) one.act();
}

bool ArchiveGate::is_late() const {
  const std::lock_guard lock(mutex_);
  return is_late_;
}

}  // namespace railgauge::mirror

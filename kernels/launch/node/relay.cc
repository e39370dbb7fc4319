// The thread that exchanges steps, and the queues between it and the owner's loop.
#include "kernels/launch/node/relay.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/core/base/clock.h"

namespace railgauge {
namespace {

// The least time of a step at the deadline, so that the error comes from the group.
constexpr double kLeastStepSeconds = 0.001;

// An empty step keeps the group's pace and carries nothing.
bool is_empty(const LaunchStep& step) {
  return step.asks().empty() && step.signals().empty() && step.news().empty() && !step.has_end();
}

// Moves out the messages that fit into one step; the rest waits for the next one. A daemon's output
// comes in small pieces.
LaunchStep first_part(LaunchStep& all) {
  LaunchStep part;
  std::size_t bytes = 0;
  const auto fits = [&](const google::protobuf::MessageLite& message) {
    const bool first = bytes == 0;
    bytes += message.ByteSizeLong();
    return first || bytes <= MpiRelay::kMaxNewsBytes;
  };
  const auto move_some = [&](auto& from, auto& to) {
    int moved = 0;
    while (moved < from.size() && fits(from.Get(moved))) *to.Add() = from.Get(moved++);
    from.DeleteSubrange(0, moved);
    return from.empty();
  };
  const bool whole = move_some(*all.mutable_asks(), *part.mutable_asks()) &&
                     move_some(*all.mutable_signals(), *part.mutable_signals()) &&
                     move_some(*all.mutable_news(), *part.mutable_news());
  if (!whole || !all.has_end()) return part;
  *part.mutable_end() = all.end();
  all.clear_end();
  return part;
}

}  // namespace

// The thread starts last, when all members are there.
MpiRelay::MpiRelay(Group& group, double deadline_ns)
    : group_(group), deadline_ns_(deadline_ns), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  RG_CHECK(static_cast<bool>(wake_));
  thread_ = std::thread([this] { run(); });
}

MpiRelay::~MpiRelay() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Wakes the owner's poll.
void MpiRelay::ring() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));  // full means that it rings already
}

// Posting wakes the thread: rank 0 does not wait for its pace then.
void MpiRelay::post(LaunchAsk ask) {
  const std::lock_guard lock(mutex_);
  *outbox_.add_asks() = std::move(ask);
  changed_.notify_all();
}

void MpiRelay::post(LaunchSignal signal) {
  const std::lock_guard lock(mutex_);
  *outbox_.add_signals() = std::move(signal);
  changed_.notify_all();
}

// Output that does not fit is dropped; ends and refusals are always kept.
void MpiRelay::post(LaunchNews news) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  if (unsent_bytes_ >= kMaxUnsentBytes) {
    news.clear_out();
    news.clear_err();
    if (!news.has_wait_status() && news.refused().empty()) return;
  }
  unsent_bytes_ += news.ByteSizeLong();
  *outbox_.add_news() = std::move(news);
  changed_.notify_all();
}

// False while a megabyte waits to be sent.
bool MpiRelay::has_room() {
  const std::lock_guard lock(mutex_);
  return unsent_bytes_ < kMaxUnsentBytes;
}

// Travels behind everything that was posted before.
void MpiRelay::end(LaunchEnd end) {
  const std::lock_guard lock(mutex_);
  *outbox_.mutable_end() = std::move(end);
  changed_.notify_all();
}

// Applies to the step that waits now as well.
void MpiRelay::set_quiet(bool quiet) {
  const std::lock_guard lock(mutex_);
  if (quiet_ == quiet) return;
  quiet_ = quiet;
  changed_.notify_all();
}

// Also resets the descriptor.
std::vector<MpiRelay::RankStep> MpiRelay::take() {
  std::uint64_t rung = 0;
  static_cast<void>(!::read(wake_.get(), &rung, sizeof rung));
  const std::lock_guard lock(mutex_);
  return std::exchange(inbox_, {});
}

std::optional<Error> MpiRelay::error() {
  const std::lock_guard lock(mutex_);
  return error_;
}

// The thread ends with the last step or an error.
void MpiRelay::join() {
  if (thread_.joinable()) thread_.join();
}

// Fills in this rank's part of the next step. Rank 0 waits for a message to send, or for its
// period. False: the steps have ended.
bool MpiRelay::wait_for_turn(LaunchStep& mine) {
  std::unique_lock lock(mutex_);
  if (group_.rank() == 0) {
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      const std::chrono::duration<double> pace(quiet_ ? kQuietSeconds : kBusySeconds);
      const auto turn = begin + std::chrono::duration_cast<std::chrono::nanoseconds>(pace);
      if (over_ || !is_empty(outbox_) || std::chrono::steady_clock::now() >= turn) break;
      changed_.wait_until(lock, turn);
    }
  }
  if (over_) return false;
  mine = first_part(outbox_);
  unsent_bytes_ = outbox_.ByteSizeLong();
  return true;
}

// Returns the messages that this rank accepts from `rank`; all others are dropped.
LaunchStep MpiRelay::heard(std::size_t rank, const std::string& payload) const {
  LaunchStep step;
  const bool to_or_of_first = group_.rank() == 0 || rank == 0;
  if (rank == group_.rank() || !to_or_of_first || !step.ParseFromString(payload)) return {};
  if (rank == 0) {
    step.clear_news();
  } else {
    step.clear_asks();
    step.clear_signals();
    step.clear_end();
  }
  return step;
}

// One step after another: this rank's part, then the parts of all.
void MpiRelay::run() {
  LaunchStep mine;
  while (wait_for_turn(mine)) {
    const bool last = mine.has_end();
    const double left = std::max(kLeastStepSeconds, (deadline_ns_ - monotonic_now_ns()) / 1e9);
    auto all = group_.exchange(mine.SerializeAsString(), left);
    const std::lock_guard lock(mutex_);
    if (!all) {
      error_ = all.error();
      over_ = true;
      return ring();
    }
    bool told = false;
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
      LaunchStep step = heard(rank, (*all)[rank]);
      if (is_empty(step)) continue;
      told = told || step.has_end();
      inbox_.push_back({static_cast<std::uint32_t>(rank), std::move(step)});
    }
    if (!inbox_.empty()) ring();
    over_ = over_ || last || told;
    if (last || told) return;
  }
}

}  // namespace railgauge

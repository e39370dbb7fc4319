// The timed loop of write bandwidth: a stream of writes that is kept full, and the windows that its
// completions are cut into. Nothing between two windows allocates or makes a system call where the
// TSC is the clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/core/clock.h"
#include "kernels/verbs/report.h"
#include "kernels/verbs/send_queue.h"

namespace railgauge::verbs {

struct Window {
  std::uint64_t writes = 0;
  std::uint64_t ticks = 0;
};

// The writes of one size: what is posted next and what stands in the queue. Plain values for the
// timed loop.
class WriteStream {
 public:
  struct Plan {
    std::uint64_t depth = 1;
    std::uint64_t signal_every = 1;
    std::uint64_t writes = 0;  // in all; 0 has no end
    double added_cost = 0;
  };
  WriteStream(SendQueue& queue, const TickClock& clock, WriteRequest request, const Plan& plan,
              const Slots& slots)
      : queue_(queue), clock_(clock), request_(request), plan_(plan), slots_(slots) {
    // The control posts a group when the one before has completed and its cost is paid.
    if (plan_.added_cost > 0) plan_.depth = plan_.signal_every;
  }

  // Fills the queue.
  bool top_up() {
    if (plan_.added_cost > 0) {
      if (queue_.in_flight() > 0) return true;
      group_began_ = clock_.ticks();
    }
    while (queue_.in_flight() < plan_.depth && !all_posted()) {
      ++posted_;
      const bool signalled = posted_ % plan_.signal_every == 0 || all_posted();
      if (!queue_.post(request_, signalled)) return false;
      next_address();
    }
    return true;
  }

  // Ends the stream: after it nothing of it stands in the queue and `slots_written` is final.
  bool finish() {
    if (!queue_.wait_retired()) return false;
    if (queue_.in_flight() == 0) return true;
    ++posted_;  // the tail of a group that has no completion: one more write brings it
    if (!queue_.post(request_, true)) return false;
    next_address();
    return queue_.wait_retired();
  }
  // How many of the first slots were written, each at least once.
  [[nodiscard]] std::uint64_t slots_written() const {
    return std::min<std::uint64_t>(posted_, slots_.count);
  }

  // Waits for completions: writes retired, negative on failure.
  std::int64_t retire() {
    const std::int64_t retired = queue_.poll_or_wait();
    if (plan_.added_cost > 0 && retired > 0) add_cost(clock_, group_began_, plan_.added_cost);
    return retired;
  }

  // What completed while nobody looked: writes retired, negative on failure.
  std::int64_t drain() {
    std::int64_t all = 0;
    for (std::int64_t retired = queue_.poll(); retired != 0; retired = queue_.poll()) {
      if (retired < 0) return retired;
      all += retired;
    }
    return all;
  }

 private:
  [[nodiscard]] bool all_posted() const { return plan_.writes != 0 && posted_ >= plan_.writes; }

  void next_address() {
    if (slots_.count == 1) return;
    const bool last = ++slot_ == slots_.count;
    const std::uint64_t step =
        last ? 0 - (slots_.count - 1) * slots_.stride_bytes : slots_.stride_bytes;
    if (last) slot_ = 0;
    request_.sge.addr += step;
    request_.wr.wr.rdma.remote_addr += step;
  }

  SendQueue& queue_;
  const TickClock& clock_;
  WriteRequest request_;
  Plan plan_;
  Slots slots_;
  std::size_t slot_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t group_began_ = 0;
};

// One size being measured: turns the stream's completions into windows.
class WindowMeter {
 public:
  WindowMeter(WriteStream& stream, const TickClock& clock, std::uint64_t window_writes, bool fixed)
      : stream_(stream), clock_(clock), window_writes_(window_writes), fixed_(fixed) {}

  // Makes `count` more windows. False when the queue failed.
  bool batch(std::uint64_t count) {
    taken_ += count;
    make_room(taken_ + SendQueue::kPollBatch);
    if (!begin()) return false;
    while (all_.size() < taken_) {
      const std::int64_t retired = stream_.retire();
      if (retired < 0) return false;
      writes_ += static_cast<std::uint64_t>(retired);
      const std::uint64_t now = clock_.ticks();
      if (const std::uint64_t whole = windows_in(writes_); whole > 0) close(whole, now);
      if (!stream_.top_up()) return false;
    }
    return true;
  }

  // The last `count` windows that were asked for.
  [[nodiscard]] std::span<const Window> last(std::uint64_t count) const {
    return std::span(all_).first(taken_).last(count);
  }

 private:
  // Sets the first window's beginning. Fixed: before the first post. Else at a completion with the
  // queue full: what completed between two batches is nobody's. Where nothing did, the queue never
  // ran low and the window goes on.
  bool begin() {
    if (fixed_ && !running_) {
      running_ = true;
      since_ = clock_.ticks();
      return stream_.top_up();
    }
    if (fixed_) return true;
    const std::int64_t missed = stream_.drain();
    if (missed < 0) return false;
    if (running_ && missed == 0) return true;
    running_ = true;
    if (!stream_.top_up() || stream_.retire() < 0) return false;
    writes_ = 0;
    since_ = clock_.ticks();
    return stream_.top_up();
  }

  // Outside the timed part: closing a window allocates nothing.
  void make_room(std::uint64_t count) {
    if (all_.capacity() < count) all_.reserve(std::max(count, 2 * all_.capacity()));
  }

  // Windows that one poll closed share its writes and its time: nothing tells them apart.
  void close(std::uint64_t windows, std::uint64_t now) {
    for (std::uint64_t left = windows; left > 0; --left) {
      const Window window{writes_ / left, std::max<std::uint64_t>(1, (now - since_) / left)};
      all_.push_back(window);
      writes_ -= window.writes;
      since_ += (now - since_) / left;
    }
  }

  [[nodiscard]] std::uint64_t windows_in(std::uint64_t writes) const {
    // The last group of a fixed number can be short.
    return fixed_ ? (writes + window_writes_ - 1) / window_writes_ : writes / window_writes_;
  }

  WriteStream& stream_;
  const TickClock& clock_;
  std::uint64_t window_writes_;
  bool fixed_;
  bool running_ = false;
  std::uint64_t writes_ = 0;
  std::uint64_t since_ = 0;
  std::uint64_t taken_ = 0;  // windows asked for
  std::vector<Window> all_;  // a poll can close more than were asked for
};

}  // namespace railgauge::verbs

// The hot side of one queue pair: posting writes, retiring completions, polling memory. What a
// timed loop calls is inline here, allocates nothing and makes no system call where the TSC is the
// clock. Every wait ends: at a failed completion, at the task's deadline, or when nothing moved for
// the stall limit, or when the peer gives up; failure() then says which. Not thread safe.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <string>

#include "kernels/core/clock.h"
#include "kernels/core/result.h"

namespace railgauge::verbs {

// One RDMA write, built once and posted many times.
struct WriteRequest {
  ibv_sge sge{};
  ibv_send_wr wr{};
  unsigned flags = 0;  // besides IBV_SEND_SIGNALED
};

class SendQueue {
 public:
  struct Limits {
    std::uint64_t deadline_ticks = 0;
    std::uint64_t stall_ticks = 0;
  };
  SendQueue() = default;
  // `who` opens every message: "fake0:1: write to rank 1 (fake1:1)".
  SendQueue(ibv_qp* queue_pair, ibv_cq* completions, std::string who)
      : queue_pair_(queue_pair), completions_(completions), who_(std::move(who)) {}

  // From now until the next call, waits end at these limits.
  void set_limits(const TickClock& clock, double deadline_monotonic_ns, double stall_ns);

  // The peer writes this byte when it gives up; waits then end at once. May stay unset.
  void watch_abort(const std::uint8_t* flag) { abort_flag_ = flag; }

  [[nodiscard]] bool post(WriteRequest& request, bool signalled) {
    request.wr.wr_id = ++unsignalled_;  // how many posts its completion retires
    request.wr.sg_list = &request.sge;
    request.wr.send_flags = request.flags;
    if (signalled) {
      request.wr.send_flags |= IBV_SEND_SIGNALED;
      unsignalled_ = 0;
    }
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(queue_pair_, &request.wr, &bad); error != 0) [[unlikely]]
      return fail_with(Failure::kPost, error);
    ++in_flight_;
    return true;
  }

  // Posts retired by the completions that are there; negative on failure.
  [[nodiscard]] std::int64_t poll() {
    const int count = ibv_poll_cq(completions_, kPollBatch, completion_.data());
    if (count <= 0) [[likely]] {
      if (count == 0) return 0;
      fail_with(Failure::kPoll, 0);
      return -1;
    }
    std::uint64_t retired = 0;
    for (int i = 0; i < count; ++i) {
      const ibv_wc& wc = completion_[static_cast<std::size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        fail_with(Failure::kCompletion, static_cast<int>(wc.status));
        return -1;
      }
      retired += wc.wr_id;
    }
    in_flight_ -= retired;
    return static_cast<std::int64_t>(retired);
  }

  // Waits until completions retired everything up to the last signalled post.
  [[nodiscard]] bool wait_retired() {
    while (in_flight_ > unsignalled_)
      if (poll_or_wait() < 0) return false;
    return true;
  }

  // As poll, but waits until something was retired.
  [[nodiscard]] std::int64_t poll_or_wait() {
    for (std::uint64_t since = 0;;) {
      for (unsigned i = 0; i < kPollsBetweenChecks; ++i)
        if (const std::int64_t retired = poll(); retired != 0) return retired;
      if (!may_wait_longer(since)) return -1;
    }
  }

  // Waits until the peer has written `value` there: the last byte of a message, which adapters
  // place last.
  [[nodiscard]] bool wait_for_byte(const std::uint8_t* byte, std::uint8_t value) {
    for (std::uint64_t since = 0;;) {
      for (unsigned i = 0; i < kPollsBetweenChecks; ++i)
        if (__atomic_load_n(byte, __ATOMIC_ACQUIRE) == value) return true;
      if (poll() < 0 || !may_wait_longer(since)) return false;
    }
  }

  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
  // False, and a failure, once the task's deadline has come. For between two batches: a fast peer
  // never makes a wait look at the clock.
  [[nodiscard]] bool before_deadline() {
    return clock_->ticks() < limits_.deadline_ticks || fail_with(Failure::kDeadline, 0);
  }
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }
  // After a call said that it failed: one line, with the status in words, the queue pair's state
  // and the side to look at.
  [[nodiscard]] Error failure() const;

  static constexpr int kPollBatch = 16;
  static constexpr unsigned kPollsBetweenChecks = 1024;

 private:
  enum class Failure { kNone, kPost, kPoll, kCompletion, kStalled, kDeadline, kAborted };

  bool fail_with(Failure failure, int detail) {
    failure_ = failure;
    detail_ = detail;
    return false;
  }
  bool may_wait_longer(std::uint64_t& since);

  ibv_qp* queue_pair_ = nullptr;
  ibv_cq* completions_ = nullptr;
  std::uint64_t in_flight_ = 0;
  std::uint64_t unsignalled_ = 0;
  std::array<ibv_wc, kPollBatch> completion_{};
  const TickClock* clock_ = nullptr;
  const std::uint8_t* abort_flag_ = nullptr;
  Limits limits_;
  Failure failure_ = Failure::kNone;
  int detail_ = 0;
  std::string who_;
};

}  // namespace railgauge::verbs

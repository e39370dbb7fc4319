// How long the queues of one connection wait, and why they stopped. Every wait ends: at a failed
// completion, at the task's deadline, when nothing moved for the stall limit, or when the peer
// gives up; failure() then says which. Not thread safe.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"

namespace railgauge::verbs {

// A completion queue, and the channel that tells when to look at it; without one it is polled
// without rest.
struct Completions {
  ibv_cq* queue = nullptr;
  ibv_comp_channel* channel = nullptr;
  bool is_armed = false;
};

class Waiting {
 public:
  enum class Failure { kNone, kPost, kPoll, kEvent, kCompletion, kStalled, kDeadline, kAborted };

  // `who` opens every message: "fake0:1: write to rank 1 (fake1:1)"; `queue_pair` is the one whose
  // state is named where none is known to have failed.
  void set_who(std::string who, ibv_qp* queue_pair) {
    who_ = std::move(who);
    queue_pair_ = queue_pair;
  }
  // From now until the next call, waits end at these limits.
  void set_limits(const TickClock& clock, double deadline_monotonic_ns, double stall_ns);
  // The peer writes this byte when it gives up; waits then end at once. May stay unset.
  void watch_abort(const std::uint8_t* flag) { abort_flag_ = flag; }

  // Between polls that found nothing; `since` is 0 at a wait's beginning. False ends the wait.
  [[nodiscard]] bool may_go_on(std::uint64_t& since);
  // The same, and with a channel it sleeps until there is something, a moment at most.
  [[nodiscard]] bool may_go_on(std::uint64_t& since, Completions& completions);
  // False, and a failure, once the task's deadline has come. For between two batches: a fast peer
  // never makes a wait look at the clock.
  [[nodiscard]] bool before_deadline();

  // Always false. `queue_pair` is the one whose state the message names.
  bool fail_with(Failure failure, int detail, ibv_qp* queue_pair);
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }
  // After a call said that it failed: one line, with the status in words, the queue pair's state
  // and the side to look at.
  [[nodiscard]] Error failure() const;

 private:
  bool sleep_until_event(Completions& completions);

  const TickClock* clock_ = nullptr;
  const std::uint8_t* abort_flag_ = nullptr;
  std::uint64_t deadline_ticks_ = 0;
  std::uint64_t stall_ticks_ = 0;
  Failure failure_ = Failure::kNone;
  int detail_ = 0;
  ibv_qp* queue_pair_ = nullptr;
  std::string who_;
};

}  // namespace railgauge::verbs

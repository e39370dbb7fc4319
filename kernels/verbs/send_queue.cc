#include "kernels/verbs/send_queue.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/dl/verbs.h"
#include "kernels/verbs/words.h"

namespace railgauge::verbs {
namespace {

std::string state_of(ibv_qp* queue_pair) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (loaded_verbs().query_qp(queue_pair, &attributes, IBV_QP_STATE, &init) != 0)
    return "an unknown state";
  return fmt::format("state {}", queue_pair_state_words(attributes.qp_state));
}

}  // namespace

void SendQueue::set_limits(const TickClock& clock, double deadline_monotonic_ns, double stall_ns) {
  clock_ = &clock;
  const double left_ns = std::max(0.0, deadline_monotonic_ns - monotonic_now_ns());
  limits_.deadline_ticks =
      clock.ticks() + static_cast<std::uint64_t>(left_ns / clock.ns_per_tick());
  limits_.stall_ticks = static_cast<std::uint64_t>(stall_ns / clock.ns_per_tick());
}

bool SendQueue::may_wait_longer(std::uint64_t& since) {
  RG_CHECK(clock_ != nullptr);
  const std::uint64_t now = clock_->ticks();
  if (since == 0) since = now;
  if (abort_flag_ != nullptr && __atomic_load_n(abort_flag_, __ATOMIC_ACQUIRE) != 0)
    return fail_with(Failure::kAborted, 0);
  if (now >= limits_.deadline_ticks) return fail_with(Failure::kDeadline, 0);
  if (now - since >= limits_.stall_ticks) return fail_with(Failure::kStalled, 0);
  return true;
}

Error SendQueue::failure() const {
  RG_CHECK(failure_ != Failure::kNone);
  switch (failure_) {
    case Failure::kPost:
      return {Code::kInternal, fmt::format("{}: post: {}; the queue pair is in {}", who_,
                                           errno_words(detail_), state_of(queue_pair_))};
    case Failure::kCompletion: {
      const auto status = static_cast<ibv_wc_status>(detail_);
      return {code_of(status), fmt::format("{}: {}; {} is at fault, the queue pair here is in {}",
                                           who_, loaded_verbs().wc_status_str(status),
                                           blamed_side(status), state_of(queue_pair_))};
    }
    case Failure::kStalled: {
      const double seconds = clock_->to_ns(limits_.stall_ticks) / 1e9;
      return {Code::kUnavailable,
              fmt::format("{}: nothing from the other side for {:.3g} s; the queue pair is in {}",
                          who_, seconds, state_of(queue_pair_))};
    }
    case Failure::kAborted:
      return {Code::kAborted, fmt::format("{}: the other side gave up", who_)};
    case Failure::kDeadline:
      return {Code::kDeadlineExceeded,
              fmt::format("{}: the task's deadline came; the queue pair is in {}", who_,
                          state_of(queue_pair_))};
    default:
      return {Code::kInternal,
              fmt::format("{}: poll the completion queue failed; the queue pair is in {}", who_,
                          state_of(queue_pair_))};
  }
}

}  // namespace railgauge::verbs

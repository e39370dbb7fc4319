#include "kernels/verbs/transport/send_queue.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "kernels/dl/verbs.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

constexpr int kSleepMs = 20;    // then the limits are looked at
constexpr double kLookMs = 20;  // between two looks at the device's events
// A device that is taken away fails calls a moment before its event comes.
constexpr int kWhyMs = 5;

// Whether the failure may be one of the device here.
bool may_be_lost(Waiting::Failure failure, int detail) {
  using Failure = Waiting::Failure;
  return failure == Failure::kPost || failure == Failure::kPoll || failure == Failure::kEvent ||
         (failure == Failure::kCompletion &&
          (detail == IBV_WC_WR_FLUSH_ERR || detail == IBV_WC_FATAL_ERR));
}

// Queries the device after a failure: ERR means that the connection ended, no answer that the
// device here is gone.
std::string state_of(ibv_qp* queue_pair) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  if (queue_pair == nullptr) return "an unknown state";
  if (const int error = loaded_verbs().query_qp(queue_pair, &attributes, IBV_QP_STATE, &init);
      error != 0)
    return fmt::format("an unknown state: the device does not answer ibv_query_qp: {}",
                       errno_words(error));
  return fmt::format("state {}", queue_pair_state_words(attributes.qp_state));
}

}  // namespace

// Limits become ticks once, so that a look costs one read of the clock and three comparisons.
void Waiting::set_limits(const TickClock& clock, double deadline_monotonic_ns, double stall_ns) {
  clock_ = &clock;
  const double left_ns = std::max(0.0, deadline_monotonic_ns - monotonic_now_ns());
  deadline_ticks_ = clock.ticks() + static_cast<std::uint64_t>(left_ns / clock.ns_per_tick());
  stall_ticks_ = static_cast<std::uint64_t>(stall_ns / clock.ns_per_tick());
  look_ticks_ = static_cast<std::uint64_t>(kLookMs * 1e6 / clock.ns_per_tick());
}

bool Waiting::is_lost(std::uint64_t now) {
  if (now < next_look_) return false;
  next_look_ = now + look_ticks_;
  return events_.is_lost();
}

bool Waiting::is_aborted() const {
  for (std::size_t i = 0; abort_flag_ != nullptr && i < abort_flags_; ++i)
    if (__atomic_load_n(abort_flag_ + i * abort_stride_, __ATOMIC_ACQUIRE) == abort_value_)
      return true;
  return false;
}

// The abort comes first: its reason is more exact than this side's stall.
bool Waiting::may_continue(std::uint64_t& since) {
  RG_CHECK(clock_ != nullptr);
  const std::uint64_t now = clock_->ticks();
  if (since == 0) since = now;
  if (is_aborted()) return fail_with(Failure::kAborted, 0, nullptr);
  if (is_lost(now)) return fail_with(Failure::kLost, 0, nullptr);
  if (now >= deadline_ticks_) return fail_with(Failure::kDeadline, 0, queue_pair_);
  if (now - since >= stall_ticks_) return fail_with(Failure::kStalled, 0, queue_pair_);
  return true;
}

bool Waiting::may_continue(std::uint64_t& since, Completions& completions) {
  if (!may_continue(since)) return false;
  return completions.channel == nullptr || sleep_until_event(completions);
}

bool Waiting::before_deadline() {
  const std::uint64_t now = clock_->ticks();
  if (is_lost(now)) return fail_with(Failure::kLost, 0, nullptr);
  return now < deadline_ticks_ || fail_with(Failure::kDeadline, 0, queue_pair_);
}

// Arms the queue first, so that the caller polls once more: no event reports an earlier completion.
bool Waiting::sleep_until_event(Completions& completions) {
  if (!completions.is_armed) {
    if (const int error = ibv_req_notify_cq(completions.queue, 0); error != 0)
      return fail_with(Failure::kEvent, error, queue_pair_);
    completions.is_armed = true;
    return true;
  }
  pollfd ready{completions.channel->fd, POLLIN, 0};
  if (::poll(&ready, 1, kSleepMs) <= 0) return true;
  ibv_cq* told = nullptr;
  void* context = nullptr;
  errno = 0;
  if (loaded_verbs().get_cq_event(completions.channel, &told, &context) != 0)
    return errno == EAGAIN || errno == EINTR || fail_with(Failure::kEvent, errno, queue_pair_);
  loaded_verbs().ack_cq_events(told, 1);
  completions.is_armed = false;
  return true;
}

// Keeps the last failure; callers stop at the first false. An event of the device is the cause of
// what failed with it.
bool Waiting::fail_with(Failure failure, int detail, ibv_qp* queue_pair) {
  if (may_be_lost(failure, detail) && events_.is_lost(kWhyMs)) failure = Failure::kLost;
  failure_ = failure;
  detail_ = detail;
  queue_pair_ = queue_pair;
  return false;
}

// The message is made here and not in the timed loop, which records numbers alone.
Error Waiting::failure() const {
  const std::string state = fmt::format("the queue pair is in {}", state_of(queue_pair_));
  switch (failure_) {
    case Failure::kPost:
      return {Code::kInternal, fmt::format("{}: post: {}; {}", who_, errno_words(detail_), state)};
    case Failure::kEvent:
      return {Code::kInternal,
              fmt::format("{}: wait for a completion event: {}", who_, errno_words(detail_))};
    case Failure::kCompletion: {
      const auto status = static_cast<ibv_wc_status>(detail_);
      return {code_of(status), fmt::format("{}: {}; {} is at fault, the queue pair here is in {}",
                                           who_, loaded_verbs().wc_status_str(status),
                                           blamed_side(status), state_of(queue_pair_))};
    }
    case Failure::kStalled:
      return {Code::kUnavailable, fmt::format("{}: nothing from the other side for {:.3g} s; {}",
                                              who_, clock_->to_ns(stall_ticks_) / 1e9, state)};
    case Failure::kAborted:
      return {Code::kAborted, fmt::format("{}: the other side gave up", who_)};
    case Failure::kLost:
      return {Code::kUnavailable,
              fmt::format("{} while in use: {}", events_.words(), who_.substr(who_.find(' ') + 1))};
    case Failure::kDeadline:
      return {Code::kDeadlineExceeded,
              fmt::format("{}: the task's deadline came; {}", who_, state)};
    case Failure::kPoll:
      return {Code::kInternal,
              fmt::format("{}: poll the completion queue failed; {}", who_, state)};
    case Failure::kNone:
      break;
  }
  RG_CHECK(false);
  return {};
}

}  // namespace railgauge::verbs

// The thread that makes blocking calls, and the loop that watches it.
#include "kernels/nccl/communicator/worker.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge::nccl {
namespace {

constexpr double kLookNs = 1e8;  // between two looks at a job
// The shortest nap of the watching thread, so that it does not spin at the end of a limit.
constexpr double kLeastNs = 1e6;

}  // namespace

// Resets an earlier stop under the lock, before the worker can see the new job.
void Progress::begin(std::string step) {
  const std::lock_guard lock(mutex_);
  step_ = std::move(step);
  stopped_.store(false, std::memory_order_release);
  last_beat_ns_ = monotonic_now_ns();
}

void Progress::beat() { last_beat_ns_ = monotonic_now_ns(); }

// The reason is written before the flag: who sees the flag finds the reason.
void Progress::stop(Error why) {
  const std::lock_guard lock(mutex_);
  why_ = std::move(why);
  stopped_.store(true, std::memory_order_release);
}

Status Progress::stopped_at(std::string_view act) const {
  const std::lock_guard lock(mutex_);
  return fail(why_.code, "{}: {}", act, why_.message);
}

std::string Progress::step() const {
  const std::lock_guard lock(mutex_);
  return step_;
}

// The thread holds the service by a shared pointer of its own, since it may outlive the worker.
Worker::Worker(std::shared_ptr<Progress> progress)
    : progress_(std::move(progress)), service_(std::make_shared<Service>()) {
  thread_ = std::thread([service = service_] { work(service); });
}

// A lost thread is detached already and is not waited for.
Worker::~Worker() {
  if (lost_) return;
  {
    const std::lock_guard lock(service_->mutex);
    service_->quit = true;
    service_->changed.notify_all();
  }
  thread_.join();
}

// A job's resources are released before it counts as ended: no other thread releases them.
void Worker::work(const std::shared_ptr<Service>& service) {
  std::unique_lock lock(service->mutex);
  while (true) {
    service->changed.wait(lock, [&] { return service->job != nullptr || service->quit; });
    if (service->job == nullptr) return;
    Job job = std::exchange(service->job, nullptr);
    lock.unlock();
    Status ended = job();
    // Whatever the job owns ends on this thread.
    job = nullptr;
    lock.lock();
    service->ended = std::move(ended);
    service->changed.notify_all();
  }
}

// A step that runs for less than this is not reported as hanging.
constexpr double kBriefNs = 0.2e9;

// Three reasons in the order of what explains most: NCCL's own error, the deadline, the silence.
std::optional<Error> Worker::reason_to_stop(const Watch& watch) const {
  if (watch.health)
    if (Status seen = watch.health(); !seen) return std::move(seen).error();
  const double now_ns = monotonic_now_ns();
  const double quiet_ns = now_ns - progress_->last_beat_ns();
  const std::string hint = watch.hint.empty() ? "" : "; " + watch.hint;
  if (now_ns >= watch.deadline_monotonic_ns)
    return Error{
        Code::kDeadlineExceeded,
        fmt::format("not done in time for the task's deadline, {:.1f} s after it was begun{}",
                    quiet_ns / 1e9, quiet_ns < kBriefNs ? "; a longer deadline would help" : hint)};
  if (quiet_ns >= watch.stall_ns)
    return Error{Code::kDeadlineExceeded,
                 fmt::format("not done after {:.1f} s{}", quiet_ns / 1e9, hint)};
  return std::nullopt;
}

// The detached thread stays in its call until the process ends.
Status Worker::leave_behind() {
  lost_ = true;
  thread_.detach();
  const Status why = progress_->stopped_at(progress_->step());
  return fail(why.error().code, why.error().message + " (a call of NCCL or the driver hangs)");
}

// The caller naps until the job ends, its next limit, or kLookNs, whichever comes first.
Status Worker::run(std::string step, Job job, const Watch& watch) {
  if (lost_) return fail(Code::kAborted, step + ": an earlier call has not come back");
  progress_->begin(std::move(step));
  std::unique_lock lock(service_->mutex);
  service_->ended.reset();
  service_->job = std::move(job);
  service_->changed.notify_all();
  double leave_at_ns = 0;  // 0: not stopped
  while (true) {
    const double now_ns = monotonic_now_ns();
    const double end_ns = leave_at_ns != 0 ? leave_at_ns
                                           : std::min(watch.deadline_monotonic_ns,
                                                      progress_->last_beat_ns() + watch.stall_ns);
    const std::chrono::duration<double, std::nano> nap(
        std::clamp(end_ns - now_ns, kLeastNs, kLookNs));
    if (service_->changed.wait_for(lock, nap, [this] { return service_->ended.has_value(); }))
      break;
    if (leave_at_ns != 0 && monotonic_now_ns() >= leave_at_ns) {
      service_->quit = true;
      return leave_behind();
    }
    // Stopped already: only the job's own end counts now.
    if (leave_at_ns != 0) continue;
    lock.unlock();  // asking may take a while
    if (auto why = reason_to_stop(watch)) {
      progress_->stop(std::move(*why));
      leave_at_ns = monotonic_now_ns() + kLeaveSeconds * 1e9;
    }
    lock.lock();
  }
  Status ended = std::move(*service_->ended);
  lock.unlock();
  // A connection may break after the last call has returned.
  if (ended && watch.health) return watch.health();
  return ended;
}

}  // namespace railgauge::nccl

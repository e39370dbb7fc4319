#include "agent/tasks/task.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::agent {
namespace {
constexpr int kRequestFd = 3;
constexpr int kRecordFd = 4;
constexpr std::size_t kRecords = 0;  // places in Subprocess::Options::child_writes
constexpr std::size_t kStderr = 1;
constexpr std::size_t kReadBudgetBytes = 256U << 10U;  // a pipe and call: no task starves others
constexpr std::size_t kStderrTailBytes = 8U << 10U;
// The controller's gRPC takes messages of 4 MiB: one record must fit with its envelope.
constexpr std::size_t kMaxRecordBytes = 3U << 20U;
constexpr std::size_t kMaxUnwrittenBytes = 2 * kMaxFrameBytes;
constexpr double kNoPidfdPollNs = 50e6;
// The runner's own deadline precedes ours by this share, at most by this time, so that the runner
// can report the reason of its wait itself.
constexpr double kOwnDeadlineShare = 0.1;
constexpr double kOwnDeadlineMostSeconds = 0.5;
// The agent asks for the end itself, and earlier.
constexpr double kKeeperGraceSeconds = 0.5;
constexpr const char* kGarbage = "wrote garbage on its record pipe";

double unix_now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool same(const RecordKey& a, const RecordKey& b) {
  return a.run_id() == b.run_id() && a.task_id() == b.task_id() && a.attempt() == b.attempt() &&
         a.rank() == b.rank() && a.sequence() == b.sequence();
}

std::string words(const RecordKey& key) {
  return fmt::format("{}/{} attempt {} rank {} sequence {}", key.run_id(), key.task_id(),
                     key.attempt(), key.rank(), key.sequence());
}

ToRunner request_of(const api::PrepareTask& prepare, double spawned_ns) {
  const double seconds = prepare.deadline_seconds();
  ToRunner message;
  TaskRequest& request = *message.mutable_request();
  *request.mutable_key() = record_key(prepare.task(), 0);
  request.set_kernel(prepare.kernel());
  *request.mutable_parameters() = prepare.parameters();
  *request.mutable_site_defaults() = prepare.site_defaults();
  request.set_size(prepare.size());
  request.set_endpoint(prepare.endpoint());
  request.set_deadline_seconds(seconds -
                               std::min(seconds * kOwnDeadlineShare, kOwnDeadlineMostSeconds));
  request.set_spawned_monotonic_ns(spawned_ns);
  request.set_raw_samples(prepare.raw_samples());
  return message;
}

// Makes CUDA count GPUs as the plan's gpuN does, by PCI address. By default CUDA counts by speed
// and leaves out GPUs that CUDA_VISIBLE_DEVICES does not name: a task would measure another GPU, or
// a task without an endpoint not all of them.
std::map<std::string, std::string> gpu_variables() {
  return {{"CUDA_VISIBLE_DEVICES", ""}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
}

// Adds the words with which the runner's log begins its lines.
std::map<std::string, std::string> variables_of(const api::TaskRef& task) {
  auto variables = gpu_variables();
  variables["RAILGAUGE_LOG_SUBJECT"] =
      fmt::format("run {} task {} attempt {} rank {}", task.run_id(), task.task_id(),
                  task.attempt(), task.rank());
  return variables;
}
}  // namespace

RecordKey record_key(const api::TaskRef& ref, std::uint32_t sequence) {
  RecordKey key;
  key.set_run_id(ref.run_id());
  key.set_task_id(ref.task_id());
  key.set_attempt(ref.attempt());
  key.set_rank(ref.rank());
  key.set_sequence(sequence);
  return key;
}

Result<std::unique_ptr<Task>> Task::spawn(const api::PrepareTask& prepare,
                                          const TaskOptions& options) {
  const double spawned_ns = monotonic_now_ns();
  Subprocess process = RG_TRY(Subprocess::spawn(
      {.argv = {options.runner, "--task", "--request-fd", std::to_string(kRequestFd), "--record-fd",
                std::to_string(kRecordFd)},
       .child_reads = {kRequestFd},
       .child_writes = {kRecordFd, STDERR_FILENO},
       .environment = variables_of(prepare.task()),
       .confinement = &options.confinement,
       .grace_seconds = options.term_grace_seconds + kKeeperGraceSeconds}));
  std::unique_ptr<Task> task(new Task(prepare, options, std::move(process)));
  task->spawned_ns_ = spawned_ns;
  task->deadline_ns_ = spawned_ns + prepare.deadline_seconds() * 1e9;
  task->send(request_of(prepare, spawned_ns));
  return task;
}

Task::Task(api::PrepareTask prepare, TaskOptions options, Subprocess process)
    : prepare_(std::move(prepare)), options_(std::move(options)), process_(std::move(process)) {
  ending_.deadline_seconds = prepare_.deadline_seconds();
  term_grace_seconds_ = options_.term_grace_seconds;
}

void Task::send(const ToRunner& message) {
  if (!process_.to_child(0)) return;  // the runner is ending
  if (message.ByteSizeLong() > kMaxFrameBytes)
    return abort(fmt::format(
        "the controller sent a message of {} bytes for the task; a runner takes at most {}",
        message.ByteSizeLong(), kMaxFrameBytes));
  to_write_ += frame(message);
}

void Task::go() {
  went_ = true;
  ToRunner message;
  message.mutable_go();
  send(message);
}

void Task::step(GroupStep answer) {
  if (!unanswered_ || answer.step() < unanswered_->step()) return;
  unanswered_.reset();
  ToRunner message;
  *message.mutable_step() = std::move(answer);
  send(message);
}

void Task::say_again(TaskListener& listener) const {
  if (ending_.exit) return;
  if (was_prepared_ && !went_) listener.prepared(ref());
  if (unanswered_) listener.step(ref(), *unanswered_);
}

void Task::cancel(const std::string& outcome, const std::string& reason) {
  cancel_within(options_.cancel_grace_seconds, outcome, reason);
}

void Task::cancel_within(double grace_seconds, const std::string& outcome,
                         const std::string& reason) {
  if (ending_.stop != Stop::kNone || ending_.exit) return;
  ToRunner message;
  message.mutable_cancel()->set_reason(reason);
  send(message);
  flush();
  begin_stop(Stop::kCancel, outcome, reason, grace_seconds);
}

void Task::yield_to_work(const std::string& reason) {
  if (prepare_.forced()) return;
  term_grace_seconds_ = options_.yield_seconds;
  if (next_signal_ == SIGTERM)  // already being stopped, with a longer grace
    signal_at_ns_ = std::min(signal_at_ns_, monotonic_now_ns() + options_.yield_seconds * 1e9);
  cancel_within(options_.yield_seconds, std::string(kCancelledOutcome), reason);
}

void Task::abort(const std::string& reason) {
  begin_stop(Stop::kFault, std::string(kCrashed), reason, 0);
}

void Task::begin_stop(Stop why, std::string outcome, std::string reason, double grace_seconds) {
  const bool first = ending_.stop == Stop::kNone;
  // A fault invalidates the reports even of a runner that is being stopped already.
  if (!first && (why != Stop::kFault || ending_.stop == Stop::kFault)) return;
  ending_.stop = why;
  ending_.stop_outcome = std::move(outcome);
  ending_.stop_reason = std::move(reason);
  if (!first) return;
  ending_.reported_before_stop = ending_.reported.has_value();
  next_signal_ = SIGTERM;
  signal_at_ns_ = monotonic_now_ns() + grace_seconds * 1e9;
}

void Task::service(TaskListener& listener) {
  if (done_) return;
  flush();
  read_records(listener);
  read_stderr();
  watch_process();
  const double now_ns = monotonic_now_ns();
  if (!ending_.exit) {
    if (ending_.stop == Stop::kNone && now_ns >= deadline_ns_)
      begin_stop(Stop::kDeadline, std::string(kTimedOut), {}, 0);
    escalate();
    if (!done_) return;
  } else if ((process_.from_child(kRecords) || process_.from_child(kStderr)) &&
             now_ns < drained_at_ns_) {
    return;
  }
  finish(listener);
}

void Task::escalate() {
  const double now_ns = monotonic_now_ns();
  if (signal_at_ns_ == 0 || now_ns < signal_at_ns_) return;
  if (next_signal_ == 0) {
    process_.kill_below();  // a keeper that a runner stops may hear then
    done_ = true;           // KILL did not help: stuck in a driver
    return;
  }
  process_.signal_group(next_signal_);
  const bool was_term = next_signal_ == SIGTERM;
  ending_.ignored_term = !was_term;
  next_signal_ = was_term ? SIGKILL : 0;
  signal_at_ns_ = now_ns + (was_term ? term_grace_seconds_ : options_.kill_grace_seconds) * 1e9;
}

void Task::watch_process() {
  if (ending_.exit) return;
  ending_.exit = process_.reap();
  if (!ending_.exit) return;
  const double now_ns = monotonic_now_ns();
  drained_at_ns_ = now_ns + options_.drain_seconds * 1e9;
  ending_.lifetime_ns = now_ns - spawned_ns_;
  process_.to_child(0).reset();
  to_write_.clear();
}

void Task::flush() {
  while (!to_write_.empty() && process_.to_child(0)) {
    const ssize_t n = ::write(process_.to_child_fd(0), to_write_.data(), to_write_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) {  // the runner is dying, or reports the reason on the record pipe
      process_.to_child(0).reset();
      to_write_.clear();
      return;
    }
    to_write_.erase(0, static_cast<std::size_t>(n));
  }
  if (to_write_.size() > kMaxUnwrittenBytes) abort("does not read its request pipe");
}

void Task::read_records(TaskListener& listener) {
  Fd& pipe = process_.from_child(kRecords);
  if (!pipe) return;
  std::string bytes;
  const bool open = read_available(pipe.get(), kReadBudgetBytes, bytes);
  frames_.feed(bytes);
  while (ending_.stop != Stop::kFault) {
    auto next = frames_.next();
    if (!next) {
      abort(fmt::format("{}: {}", kGarbage, next.error().message));
      break;
    }
    if (!*next) break;
    take_frame(**next, listener);
  }
  if (!open || ending_.stop == Stop::kFault) pipe.reset();
}

void Task::take_frame(const std::string& bytes, TaskListener& listener) {
  FromRunner message;
  if (!message.ParseFromString(bytes) || message.body_case() == FromRunner::BODY_NOT_SET)
    return abort(fmt::format("{}: a frame of {} bytes is no message", kGarbage, bytes.size()));
  if (ending_.reported) return abort(fmt::format("{}: more after its final record", kGarbage));
  if (message.has_prepared()) {
    if (!was_prepared_) listener.prepared(ref());
    was_prepared_ = true;
  } else if (message.has_step()) {
    if (bytes.size() > kMaxRecordBytes)
      return abort(fmt::format("{}: a step of {} bytes; at most {} are allowed", kGarbage,
                               bytes.size(), kMaxRecordBytes));
    unanswered_ = std::move(*message.mutable_step());
    listener.step(ref(), *unanswered_);
  } else {
    take_record(std::move(*message.mutable_record()), bytes.size(), listener);
  }
}

void Task::take_record(Record record, std::size_t size, TaskListener& listener) {
  const RecordKey expected = record_key(ref(), next_sequence_);
  if (!same(record.key(), expected) || size > kMaxRecordBytes)
    return abort(fmt::format("{}: record {} of {} bytes where {} was due", kGarbage,
                             words(record.key()), size, words(expected)));
  ending_.last_record = describe_record(record);
  if (record.has_final()) {  // held until the process is reaped: it may still crash
    ending_.reported = std::move(*record.mutable_final());
    return;
  }
  ++next_sequence_;
  if (record.has_started()) add_placement(*record.mutable_started());
  listener.record(std::move(record));
}

// The runner's own report has priority.
void Task::add_placement(Started& started) const {
  started.mutable_facts()->insert(prepare_.facts().begin(), prepare_.facts().end());
  if (!prepare_.gpu().empty() && started.endpoint() == prepare_.endpoint())
    started.set_endpoint(fmt::format("{}+{}", started.endpoint(), prepare_.gpu()));
}

void Task::read_stderr() {
  Fd& pipe = process_.from_child(kStderr);
  if (!pipe) return;
  const bool open = read_available(pipe.get(), kReadBudgetBytes, ending_.stderr_tail);
  if (ending_.stderr_tail.size() > kStderrTailBytes)
    ending_.stderr_tail.erase(0, ending_.stderr_tail.size() - kStderrTailBytes);
  if (!open) pipe.reset();
}

void Task::finish(TaskListener& listener) {
  done_ = true;
  // A runner that a signal ended may leave half a frame; one that exited may not.
  const bool exited = ending_.exit && WIFEXITED(ending_.exit->wait_status);
  if (exited && ending_.stop == Stop::kNone && frames_.pending() > 0)
    abort(fmt::format("{}: {} bytes that are no whole frame", kGarbage, frames_.pending()));
  Record record;
  *record.mutable_key() = record_key(ref(), next_sequence_);
  record.set_unix_time_seconds(unix_now_seconds());
  *record.mutable_final() = conclude(ending_);
  listener.ended(ref(), std::move(record), was_prepared_);
}

void Task::add_to(std::vector<pollfd>& set) const {
  for (const std::size_t i : {kRecords, kStderr})
    if (process_.from_child_fd(i) >= 0) set.push_back({process_.from_child_fd(i), POLLIN, 0});
  if (!to_write_.empty()) set.push_back({process_.to_child_fd(0), POLLOUT, 0});
  if (!ending_.exit && process_.exit_fd() >= 0) set.push_back({process_.exit_fd(), POLLIN, 0});
}

double Task::wake_ns() const {
  if (ending_.exit) return drained_at_ns_;
  double wake = ending_.stop == Stop::kNone ? deadline_ns_ : signal_at_ns_;
  if (process_.exit_fd() < 0) wake = std::min(wake, monotonic_now_ns() + kNoPidfdPollNs);
  return wake;
}

}  // namespace railgauge::agent

#include "agent/tasks/final.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
struct Answer {
  std::string outcome;
  std::string reason;
};

Answer crashed(std::string reason) { return {std::string(kCrashed), std::move(reason)}; }

Answer after_deadline(const Ending& ending) {
  std::string reason = fmt::format("no end within the deadline of {} s", ending.deadline_seconds);
  if (ending.reported && ending.reported_before_stop)
    reason += fmt::format("; it had reported {} but did not exit", ending.reported->outcome());
  else if (!ending.last_record.empty())
    reason += fmt::format("; last record: {}", ending.last_record);
  if (ending.ignored_term) reason += "; it ignored TERM and was killed";
  return {std::string(kTimedOut), std::move(reason)};
}

// Judges a runner that reported its outcome and ended by itself: the report counts unless the exit
// contradicts it.
Answer after_report(const Final& reported, int wait_status) {
  const bool passed_but_failed = reported.outcome() == kPassed && wait_status != 0;
  if (WIFSIGNALED(wait_status) || passed_but_failed)
    return crashed(fmt::format("{} after it reported {}", describe_wait_status(wait_status),
                               reported.outcome()));
  return {reported.outcome(), reported.reason()};
}

Answer without_report(const Ending& ending) {
  const std::string last =
      ending.last_record.empty() ? "it wrote no record" : "last record: " + ending.last_record;
  return crashed(fmt::format("{} without a final record; {}",
                             describe_wait_status(ending.exit->wait_status), last));
}

Answer answer_of(const Ending& ending) {
  if (ending.stop == Stop::kFault) return crashed(ending.stop_reason);
  if (ending.stop == Stop::kDeadline) return after_deadline(ending);
  if (ending.stop == Stop::kCancel) {
    if (ending.reported && !ending.exit && ending.reported->outcome() == kPassed)
      return crashed("it reported passed, but did not end");
    if (ending.reported) return {ending.reported->outcome(), ending.reported->reason()};
    return {ending.stop_outcome, ending.stop_reason};
  }
  RG_CHECK(ending.exit.has_value());
  return ending.reported ? after_report(*ending.reported, ending.exit->wait_status)
                         : without_report(ending);
}

void add_usage(const Exit& exit, Final& final) {
  final.set_cpu_seconds(exit.cpu_seconds);
  if (!final.has_max_resident_bytes()) final.set_max_resident_bytes(exit.max_resident_bytes);
  if (WIFSIGNALED(exit.wait_status)) final.set_exit_signal(WTERMSIG(exit.wait_status));
}
// Adds the time outside the reported phases, which follow each other from the spawn on, as the end:
// teardown, exit and reaping. Unknown for a runner that reported no start.
void complete_phases(double lifetime_ns, Phases& phases) {
  if (!phases.has_start_ns()) return;
  const double told_ns = phases.start_ns() + phases.open_ns() + phases.wait_ns() +
                         phases.exchange_ns() + phases.measure_ns();
  phases.set_stop_ns(std::max(phases.stop_ns(), lifetime_ns - told_ns));
}
}  // namespace

Final conclude(const Ending& ending) {
  Final final = ending.reported.value_or(Final{});
  Answer answer = answer_of(ending);
  if (!ending.exit)
    answer.reason += "; the process is stuck in the Linux kernel and could not be killed";
  final.set_outcome(answer.outcome);
  final.set_reason(answer.outcome == kPassed ? "" : valid_utf8(answer.reason));
  if (ending.reported) complete_phases(ending.lifetime_ns, *final.mutable_phases());
  if (ending.exit) add_usage(*ending.exit, final);
  if (answer.outcome != kPassed) final.set_stderr_tail(valid_utf8(ending.stderr_tail));
  return final;
}

std::string describe_wait_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    const char* name = ::sigabbrev_np(signal);
    return name != nullptr ? fmt::format("killed by SIG{} (signal {})", name, signal)
                           : fmt::format("killed by signal {}", signal);
  }
  return fmt::format("exited with code {}", WEXITSTATUS(wait_status));
}

std::string describe_record(const Record& record) {
  switch (record.body_case()) {
    case Record::kStarted:
      return "started " + record.started().kernel();
    case Record::kPoint:
      return fmt::format("point {} at {} bytes", record.point().metric(),
                         record.point().message_bytes());
    case Record::kNote:
      return "note " + record.note().text();
    case Record::kFinal:
      return "final " + record.final().outcome();
    case Record::BODY_NOT_SET:
      return "an empty record";
  }
  return {};
}

}  // namespace railgauge::agent

#include "agent/recovery.h"

#include <signal.h>
#include <unistd.h>

#include <ctime>

#include "agent/tasks/task.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::agent {
namespace {
constexpr int kWaitTries = 200;  // two seconds for a killed process to end
constexpr unsigned kWaitMicroseconds = 10'000;

// A pid may be reused by another process; pid and start time together identify the runner.
bool is_alive(const OpenTask& task) {
  return task.pid > 0 && task.start_ticks != 0 && process_start_ticks(task.pid) == task.start_ticks;
}

void wait_for_end_of(const OpenTask& task) {
  for (int i = 0; i < kWaitTries && is_alive(task); ++i) ::usleep(kWaitMicroseconds);
}

// SIGQUIT makes a keeper kill all that its runner left, which SIGKILL would set free. A runner that
// an older agent started has no keeper; the group's SIGKILL ends what SIGQUIT does not.
bool kill_runner(const OpenTask& task) {
  if (!is_alive(task)) return false;
  ::kill(-task.pid, SIGQUIT);
  ::kill(-task.pid, SIGCONT);
  wait_for_end_of(task);
  if (is_alive(task)) ::kill(-task.pid, SIGKILL);
  wait_for_end_of(task);
  return true;
}

Record final_of(const OpenTask& task) {
  Record record;
  *record.mutable_key() = record_key(task.task, task.next_sequence);
  record.set_unix_time_seconds(static_cast<double>(::time(nullptr)));
  record.mutable_final()->set_outcome(std::string(kCrashed));
  record.mutable_final()->set_reason("the agent was restarted while the task ran");
  return record;
}
}  // namespace

Result<Recovered> recover_open_tasks(Spool& spool) {
  Recovered recovered;
  for (const OpenTask& task : RG_TRY(spool.open_tasks())) {
    if (kill_runner(task)) ++recovered.killed_runners;
    recovered.finals.push_back(final_of(task));
  }
  return recovered;
}

}  // namespace railgauge::agent

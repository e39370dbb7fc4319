// One runner process and its task: spawned, prepared, running, stopping, reaped. Owns the process,
// both protocol pipes, the deadline and the escalation from Cancel over TERM to KILL. A passive
// object: the owner polls and calls service(). Not thread safe.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <poll.h>

#include "agent/os/subprocess.h"
#include "agent/tasks/final.h"
#include "controller/api/agent.pb.h"
#include "kernels/core/group/framing.h"

namespace railgauge::agent {

// The identity of one rank of one attempt; task_key() takes it from a TaskRef or a RecordKey.
using TaskKey = std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>;
template <class Named>
TaskKey task_key(const Named& named) {
  return {named.run_id(), named.task_id(), named.attempt(), named.rank()};
}

// Returns the key of record number `sequence` of that rank.
RecordKey record_key(const api::TaskRef& ref, std::uint32_t sequence);

// Receiver of the runners' reports. Called from Supervisor's functions only. say_again() repeats
// prepared() and step().
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void prepared(const api::TaskRef& task) = 0;
  virtual void step(const api::TaskRef& task, GroupStep step) = 0;
  virtual void record(Record record) = 0;
  // The runner is reaped or given up as stuck. `final` is the rank's last record. `was_prepared` is
  // false for a task that never reported that it is prepared.
  virtual void ended(const api::TaskRef& task, Record final, bool was_prepared) = 0;
};

struct TaskOptions {
  std::string runner;  // path of railgauge-runner
  Confinement confinement{};
  double cancel_grace_seconds = 1;  // from Cancel to TERM
  double term_grace_seconds = 2;    // from TERM to KILL
  // Replaces both graces above for a task that yields to a job: the runner must be gone within 2 s
  // of the job's arrival, of which detection takes up to 1 s.
  double yield_seconds = 0.3;
  double kill_grace_seconds = 5;  // from KILL until the process is given up as stuck
  double drain_seconds = 0.5;     // for pipes that a grandchild holds open after the end
};

class Task {
 public:
  // Starts the runner and queues its request, which service() writes. Errors: those of
  // Subprocess::spawn().
  static Result<std::unique_ptr<Task>> spawn(const api::PrepareTask& prepare,
                                             const TaskOptions& options);

  [[nodiscard]] const api::TaskRef& ref() const { return prepare_.task(); }
  [[nodiscard]] const std::string& kernel() const { return prepare_.kernel(); }
  [[nodiscard]] pid_t pid() const { return process_.pid(); }
  // Whether the task has ended, reaped or given up as stuck, and its end is reported.
  [[nodiscard]] bool done() const { return done_; }

  void go();
  // Passes the answer to a rendezvous step to the runner. Drops an answer to an earlier step: after
  // a lost stream the controller answers again, and the runner would take the repeated answer for
  // that of the next step.
  void step(GroupStep answer);
  // Repeats to the listener the message that the controller has not answered yet: prepared() or the
  // last step().
  void say_again(TaskListener& listener) const;
  void cancel(const std::string& outcome, const std::string& reason);
  // Cancels the task for a job that came to the node, unless the task is forced.
  void yield_to_work(const std::string& reason);
  // Ends the runner and ignores all that it reports from now on.
  void abort(const std::string& reason);

  // Writes pending frames, reads records and stderr, reaps the process, and sends signals that are
  // due.
  void service(TaskListener& listener);
  void add_to(std::vector<pollfd>& set) const;
  // Returns the time of monotonic_now_ns() at which service() must be called at the latest.
  [[nodiscard]] double wake_ns() const;
  // Returns the process of a task that is done. A stuck process (pid() >= 0) must be kept until
  // Linux releases it.
  Subprocess take_process() { return std::move(process_); }

 private:
  Task(api::PrepareTask prepare, TaskOptions options, Subprocess process);
  void send(const ToRunner& message);
  void cancel_within(double grace_seconds, const std::string& outcome, const std::string& reason);
  void read_records(TaskListener& listener);
  void take_frame(const std::string& bytes, TaskListener& listener);
  void take_record(Record record, std::size_t size, TaskListener& listener);
  void add_placement(Started& started) const;
  void read_stderr();
  void flush();
  void begin_stop(Stop why, std::string outcome, std::string reason, double grace_seconds);
  void escalate();
  void watch_process();
  void finish(TaskListener& listener);

  api::PrepareTask prepare_;
  TaskOptions options_;
  Subprocess process_;
  FrameReader frames_;
  std::string to_write_;  // frames that the request pipe did not take yet
  double spawned_ns_ = 0;
  double deadline_ns_ = 0;
  double signal_at_ns_ = 0;  // time of the next signal; 0 while the task is not being stopped
  int next_signal_ = 0;
  double term_grace_seconds_ = 0;
  double drained_at_ns_ = 0;  // after the process ended: when pipes count as drained
  std::uint32_t next_sequence_ = 0;
  bool was_prepared_ = false;
  bool went_ = false;                    // go() was called
  std::optional<GroupStep> unanswered_;  // the runner waits for the answer to this step
  bool done_ = false;
  Ending ending_;
};

}  // namespace railgauge::agent

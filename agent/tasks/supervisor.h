// The runners of this node: starts them, relays messages to and from them, and ends them. At most
// Options::max_tasks at a time. A passive object for one poll loop; not thread safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "agent/tasks/task.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

class Supervisor {
 public:
  struct Options {
    TaskOptions task;
    std::size_t max_tasks = 8;
  };
  // Called with a new runner before its request is written, so that the pid can be stored. An error
  // ends the runner.
  using OnSpawned = std::function<Status(const api::TaskRef&, pid_t)>;

  Supervisor(Options options, TaskListener& listener, OnSpawned on_spawned);

  // Starts a runner and asks it to prepare. After an error no runner is left. kAlreadyExists: the
  // task runs here now. kResourceExhausted: max_tasks run or are stuck. kInvalidArgument: no
  // deadline. Also the errors of Task::spawn() and of on_spawned.
  Status prepare(const api::PrepareTask& prepare);
  // Passes the controller's "go" to the runner. This and the calls below ignore a task that no
  // longer runs here, since its end is on the way to the controller.
  void go(const api::TaskRef& task);
  void step(const api::TaskRef& task, GroupStep step);
  void cancel(const api::TaskRef& task, const std::string& outcome, const std::string& reason);
  void cancel_all(const std::string& outcome, const std::string& reason);
  void abort_all(const std::string& reason);
  // Ends every task that is not forced, within TaskOptions::yield_seconds: a job waits for the
  // node.
  void yield_to_work(const std::string& reason);

  // Repeats to the listener all messages that the controller has not answered yet. Call it on a new
  // stream, since the lost one may not have carried them.
  void say_again() const;
  void service();
  void add_to(std::vector<pollfd>& set) const;
  // Returns the time of monotonic_now_ns() at which service() must be called at the latest.
  [[nodiscard]] double wake_ns() const;
  [[nodiscard]] std::vector<api::TaskRef> running() const;
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  // Returns the pids of all runners, stuck ones included.
  [[nodiscard]] std::vector<int> pids() const;
  // Returns the kernel of a running task; "" for other tasks.
  [[nodiscard]] std::string kernel_of(const api::TaskRef& task) const;

 private:
  Task* find(const api::TaskRef& ref) const;

  Options options_;
  TaskListener& listener_;
  OnSpawned on_spawned_;
  std::map<TaskKey, std::unique_ptr<Task>> tasks_;
  std::vector<Subprocess> stuck_;  // survived KILL; each counts as a task of max_tasks
};

}  // namespace railgauge::agent

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
  // Called with a new runner before it gets a request, so that its pid can be stored. An error ends
  // the runner.
  using OnSpawned = std::function<Status(const api::TaskRef&, pid_t)>;

  Supervisor(Options options, TaskListener& listener, OnSpawned on_spawned);

  // Starts a runner and asks it to prepare. After an error nothing runs. kAlreadyExists: the task
  // runs here now. kResourceExhausted: max_tasks run. kInvalidArgument: no deadline. Also errors of
  // spawning and of on_spawned.
  Status prepare(const api::PrepareTask& prepare);
  // A message for a task that does not run here any more is dropped: its end is on the way.
  void go(const api::TaskRef& task);
  void step(const api::TaskRef& task, GroupStep step);
  void cancel(const api::TaskRef& task, const std::string& outcome, const std::string& reason);
  void cancel_all(const std::string& outcome, const std::string& reason);
  void abort_all(const std::string& reason);
  // Ends every task that is not forced, with little patience: a job waits for the node.
  void yield_to_work(const std::string& reason);

  // Messages that the controller has not answered yet, for a stream that may not have carried them.
  void say_again() const;
  void service();
  void add_to(std::vector<pollfd>& set) const;
  // Nanoseconds of monotonic_now_ns() at which service() must be called at the latest.
  [[nodiscard]] double wake_ns() const;
  [[nodiscard]] std::vector<api::TaskRef> running() const;
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  // The runners, also those that could not be killed.
  [[nodiscard]] std::vector<int> pids() const;
  // Kernel of a running task, "" for one that does not run.
  [[nodiscard]] std::string kernel_of(const api::TaskRef& task) const;

 private:
  Task* find(const api::TaskRef& ref) const;

  Options options_;
  TaskListener& listener_;
  OnSpawned on_spawned_;
  std::map<TaskKey, std::unique_ptr<Task>> tasks_;
  std::vector<Subprocess> stuck_;  // could not be killed; each takes the place of a task
};

}  // namespace railgauge::agent

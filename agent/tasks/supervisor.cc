#include "agent/tasks/supervisor.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace railgauge::agent {

Supervisor::Supervisor(Options options, TaskListener& listener, OnSpawned on_spawned)
    : options_(std::move(options)), listener_(listener), on_spawned_(std::move(on_spawned)) {}

Task* Supervisor::find(const api::TaskRef& ref) const {
  const auto it = tasks_.find(task_key(ref));
  return it == tasks_.end() ? nullptr : it->second.get();
}

Status Supervisor::prepare(const api::PrepareTask& prepare) {
  if (!(prepare.deadline_seconds() > 0))
    return fail(Code::kInvalidArgument, "the task has no deadline");
  if (find(prepare.task()) != nullptr)
    return fail(Code::kAlreadyExists, "the task runs here already");
  if (tasks_.size() + stuck_.size() >= options_.max_tasks)
    return fail(Code::kResourceExhausted,
                fmt::format("{} tasks run and {} runners are stuck; the limit is {}", tasks_.size(),
                            stuck_.size(), options_.max_tasks));
  std::unique_ptr<Task> task = RG_TRY(Task::spawn(prepare, options_.task));
  RG_TRY_OK(on_spawned_(prepare.task(), task->pid()));
  tasks_.emplace(task_key(prepare.task()), std::move(task));
  return {};
}

void Supervisor::go(const api::TaskRef& task) {
  if (Task* found = find(task)) found->go();
}

void Supervisor::step(const api::TaskRef& task, GroupStep step) {
  if (Task* found = find(task)) found->step(std::move(step));
}

void Supervisor::cancel(const api::TaskRef& task, const std::string& outcome,
                        const std::string& reason) {
  if (Task* found = find(task)) found->cancel(outcome, reason);
}

void Supervisor::cancel_all(const std::string& outcome, const std::string& reason) {
  for (const auto& [_, task] : tasks_) task->cancel(outcome, reason);
}

void Supervisor::abort_all(const std::string& reason) {
  for (const auto& [_, task] : tasks_) task->abort(reason);
}

void Supervisor::yield_to_work(const std::string& reason) {
  for (const auto& [_, task] : tasks_) task->yield_to_work(reason);
}

std::vector<int> Supervisor::pids() const {
  std::vector<int> pids;
  for (const auto& [_, task] : tasks_)
    if (task->pid() >= 0) pids.push_back(task->pid());
  for (const Subprocess& process : stuck_) pids.push_back(process.pid());
  return pids;
}

void Supervisor::say_again() const {
  for (const auto& [_, task] : tasks_) task->say_again(listener_);
}

void Supervisor::service() {
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    Task& task = *it->second;
    task.service(listener_);
    if (!task.done()) {
      ++it;
      continue;
    }
    Subprocess process = task.take_process();
    if (process.pid() >= 0) stuck_.push_back(std::move(process));
    it = tasks_.erase(it);
  }
  std::erase_if(stuck_, [](Subprocess& process) { return process.reap().has_value(); });
}

void Supervisor::add_to(std::vector<pollfd>& set) const {
  for (const auto& [_, task] : tasks_) task->add_to(set);
}

double Supervisor::wake_ns() const {
  double wake = std::numeric_limits<double>::infinity();
  for (const auto& [_, task] : tasks_) wake = std::min(wake, task->wake_ns());
  return wake;
}

std::vector<api::TaskRef> Supervisor::running() const {
  std::vector<api::TaskRef> refs;
  for (const auto& [_, task] : tasks_) refs.push_back(task->ref());
  return refs;
}

std::string Supervisor::kernel_of(const api::TaskRef& task) const {
  const Task* found = find(task);
  return found != nullptr ? found->kernel() : "";
}

}  // namespace railgauge::agent

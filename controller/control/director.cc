#include "controller/control/director.h"

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/control/run_tasks.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::run {

Director::Run::Run(RunOrder ordered, const std::map<std::string, fleet::NodeState>& nodes)
    : order(std::move(ordered)),
      machine(run_tasks_of(order.plan, nodes), order.plan.policy, order.uplinks),
      forecast(forecast_tasks(order.plan)) {
  for (std::size_t i = 0; i < order.plan.tasks.size(); ++i) index_of[order.plan.tasks[i].id] = i;
  summary.set_schema_version(1);
  summary.set_run_id(order.run_id);
  summary.set_suite(order.plan.suite);
  summary.set_state(std::string(name_of(machine.state())));
  summary.set_trigger(order.trigger);
  summary.set_requested_by(order.requested_by);
  summary.set_created_at(rfc3339(order.created_at));
  summary.set_tasks_total(static_cast<std::uint32_t>(order.plan.tasks.size()));
  for (const std::string& node : order.plan.nodes) summary.add_nodes(node);
  if (!order.why.empty()) summary.set_reason(order.why);
}

Director::Director(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store,
                   Metrics& metrics)
    : loop_(loop), fleet_(fleet), store_(store), metrics_(metrics) {}

Status Director::admits() const {
  if (stopping_) return fail(Code::kUnavailable, "the controller is stopping and takes no new run");
  if (waiting_.size() < kMaxWaitingRuns) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("{} runs are waiting already; wait for one to end, or cancel one",
                          kMaxWaitingRuns));
}

void Director::submit(RunOrder order) {
  const std::string id = order.run_id;
  runs_[id] = std::make_unique<Run>(std::move(order), fleet_.nodes());
  waiting_.push_back(id);
  spdlog::info("run {}: {} tasks, asked for by {}", id, runs_[id]->summary.tasks_total(),
               runs_[id]->summary.requested_by());
  if (stopping_) return void(cancel(id, std::string(store::kControllerStopping)));
  start_next();
}

void Director::start_next() {
  if (!active_.empty() || waiting_.empty() || stopping_) return;
  active_ = waiting_.front();
  waiting_.pop_front();
  Run& run = *runs_[active_];
  run.summary.set_started_at(rfc3339(fleet::unix_seconds()));
  store::RunUpdate update;
  update.run_id = active_;
  update.state = "running";
  update.started_at = fleet::unix_seconds();
  save([this, update] { return store_.update_run(update); });
  feed(run, [&](RunMachine& machine, RunActions& out) {
    const double now = fleet::monotonic_seconds();
    run.forecast.start(now);
    machine.set_busy(busy_nodes_.text(), now, out);
    machine.start(now, out);
  });
  if (!run.ended) tell(run, "", "started");
}

Director::Run* Director::find(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : found->second.get();
}

Result<api::RunSummary> Director::cancel(const std::string& run_id, const std::string& reason) {
  Run* run = find(run_id);
  if (run == nullptr) return fail(Code::kNotFound, fmt::format("run {} is not under way", run_id));
  if (run->ended) return run->summary;
  const bool first = run->machine.state() != RunState::kCancelling;
  spdlog::info("run {}: {}", run_id, reason);
  feed(*run, [&](RunMachine& machine, RunActions& out) { machine.cancel(reason, out); });
  std::erase(waiting_, run_id);
  if (!run->ended) {
    if (first) save_cancel(*run, reason);
    tell(*run, "", reason);
  }
  return run->summary;
}

std::optional<api::RunSummary> Director::summary(const std::string& run_id) const {
  const Run* run = find(run_id);
  return run == nullptr ? std::nullopt : std::optional(run->summary);
}

Status Director::watch(const std::string& run_id, std::shared_ptr<RunWatcher> watcher) {
  Run* run = find(run_id);
  if (run == nullptr) return fail(Code::kNotFound, fmt::format("run {} is not under way", run_id));
  if (run->watchers.size() >= kMaxWatchers)
    return fail(Code::kResourceExhausted,
                fmt::format("run {} has {} watchers already", run_id, kMaxWatchers));
  api::RunEvent event;
  *event.mutable_run() = run->summary;
  event.set_text(run->summary.state());
  show_progress(run->machine, run->forecast, *event.mutable_progress());
  watcher->event(event);
  run->watchers.push_back(std::move(watcher));
  return {};
}

void Director::unwatch(const std::string& run_id, const RunWatcher* watcher) {
  if (Run* run = find(run_id); run != nullptr)
    std::erase_if(run->watchers, [watcher](const auto& one) { return one.get() == watcher; });
}

void Director::stop(const std::string& reason) {
  stopping_ = true;
  std::vector<std::string> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const std::string& id : ids) static_cast<void>(cancel(id, reason));
}

// --- what the fleet reports
// ---------------------------------------------------------------------------

std::pair<Director::Run*, TaskMachine*> Director::find_task(const api::TaskRef& ref,
                                                            const std::string& node) const {
  Run* run = find(ref.run_id());
  if (run == nullptr) return {};
  const auto index = run->index_of.find(ref.task_id());
  if (index == run->index_of.end()) return {};
  const auto task = run->active.find(index->second);
  if (task == run->active.end() || task->second.attempt() != ref.attempt()) return {};
  const std::vector<RankSpec>& ranks = task->second.spec().ranks;
  if (ref.rank() >= ranks.size() || ranks[ref.rank()].node != node) return {};
  return {run, &task->second};
}

// Runners of attempts that are over, or of a run that an earlier controller began.
void Director::cancel_strays(const std::string& node, const std::vector<api::TaskRef>& running) {
  for (const api::TaskRef& ref : running)
    if (find_task(ref, node).second == nullptr)
      send_cancel(node, ref, "cancelled", "the controller does not expect this task any more");
}

template <class Event>
void Director::for_active_tasks(Event event) {
  Run* run = find(active_);
  if (run == nullptr) return;
  std::vector<std::size_t> indices;
  for (const auto& [index, task] : run->active) indices.push_back(index);
  for (const std::size_t index : indices)
    feed(*run, index, [&](TaskMachine& task, TaskActions& out) { event(task, out); });
  drive(*run);
}

void Director::node_attached(const std::string& name, const std::vector<api::TaskRef>& running) {
  note_heard(name);
  const double now = fleet::monotonic_seconds();
  // To us its runners are lost, also those that it still has after a long silence.
  for (const api::TaskRef& ref : running)
    send_cancel(name, ref, "cancelled", "the controller does not expect this task any more");
  for_active_tasks(
      [&](TaskMachine& task, TaskActions& out) { task.node_attached(name, now, out); });
}

void Director::node_resumed(const std::string& name, const std::vector<api::TaskRef>& running) {
  note_heard(name);
  cancel_strays(name, running);
  for_active_tasks([&](TaskMachine& task, TaskActions& out) {
    std::vector<std::uint32_t> ranks;
    for (const api::TaskRef& ref : running)
      if (ref.run_id() == active_ && ref.task_id() == task.spec().task_id &&
          ref.attempt() == task.attempt())
        ranks.push_back(ref.rank());
    task.node_resumed(name, ranks, fleet::monotonic_seconds(), out);
  });
}

void Director::node_detached(const std::string& name) {
  for_active_tasks([&](TaskMachine& task, TaskActions& out) {
    task.node_detached(name, fleet::monotonic_seconds(), out);
  });
}

void Director::node_lost(const std::string& name) {
  busy_nodes_.lost(name, fleet::monotonic_seconds());
  for_active_tasks([&](TaskMachine& task, TaskActions& out) {
    task.node_lost(name, fleet::monotonic_seconds(), out);
  });
}

void Director::node_busy(const std::string& name, const std::string& reason) {
  note_busy(name, reason);
  for_active_tasks([&](TaskMachine& task, TaskActions& out) {
    task.node_busy(name, reason, fleet::monotonic_seconds(), out);
  });
}

void Director::node_idle(const std::string& name) {
  note_idle(name);
  for_active_tasks([&](TaskMachine& task, TaskActions& out) {
    task.node_idle(name, fleet::monotonic_seconds(), out);
  });
}

void Director::task_message(const std::string& name, api::AgentMessage message) {
  using Body = api::AgentMessage;
  const double now = fleet::monotonic_seconds();
  const Body::BodyCase kind = message.body_case();
  const api::TaskRef ref = kind == Body::kPrepared  ? message.prepared().task()
                           : kind == Body::kRefusal ? message.refusal().task()
                           : kind == Body::kStep    ? message.step().task()
                                                    : message.ended().task();
  const auto [run, task] = find_task(ref, name);
  if (task == nullptr) {
    if (kind == Body::kPrepared || kind == Body::kStep) cancel_strays(name, {ref});
    return;
  }
  feed(*run, run->index_of[ref.task_id()], [&](TaskMachine& machine, TaskActions& out) {
    if (kind == Body::kPrepared) machine.prepared(ref.attempt(), ref.rank(), now, out);
    if (kind == Body::kRefusal)
      machine.refused(ref.attempt(), ref.rank(), message.refusal().outcome(),
                      message.refusal().reason(), now, out);
    if (kind == Body::kEnded)
      machine.ended(ref.attempt(), ref.rank(), message.ended().outcome(), message.ended().reason(),
                    now, out);
    if (kind == Body::kStep)
      machine.step(ref.attempt(), ref.rank(), std::move(*message.mutable_step()->mutable_step()),
                   now, out);
  });
  drive(*run);
}

void Director::records_stored(const std::string& name,
                              const std::vector<fleet::StoredRecords>& stored) {
  for (const fleet::StoredRecords& rank : stored) {
    const auto [run, task] = find_task(rank.task, name);
    if (find(rank.task.run_id()) == nullptr && rank.final) on_figures_(rank.task.run_id());
    if (task == nullptr) continue;
    const std::size_t index = run->index_of[rank.task.task_id()];
    judge(*run, index, rank);
    std::optional<RankEnd> end;
    if (rank.final) end = RankEnd{rank.final->outcome(), rank.final->reason()};
    feed(*run, index, [&](TaskMachine& machine, TaskActions& out) {
      machine.stored(rank.task.attempt(), rank.task.rank(), rank.points, end,
                     fleet::monotonic_seconds(), out);
    });
    drive(*run);
  }
}

// Holds the points against the suite's limits.
void Director::judge(Run& run, std::size_t index, const fleet::StoredRecords& rank) {
  const plan::Plan& plan = run.order.plan;
  const std::size_t stage = plan.tasks[index].stage;
  if (stage >= plan.stages.size() || plan.stages[stage].limits.empty()) return;
  for (const fleet::StoredFigure& figure : rank.figures) {
    const std::optional<std::uint64_t> size(static_cast<std::uint64_t>(figure.message_bytes));
    if (auto problem =
            plan::limit_problem(plan.stages[stage].limits, figure.metric, size, figure.median))
      run.beyond.try_emplace(index, std::move(*problem));
  }
}

// What passed but for a limit has failed: it ran, and a stated floor was wrong.
RankEnd Director::judged_end(const Run& run, std::size_t index, const RankEnd& end) {
  const auto beyond = run.beyond.find(index);
  return beyond == run.beyond.end() || end.outcome != kPassed
             ? end
             : RankEnd{std::string(kFailed), beyond->second};
}

void Director::tick(double now) {
  save_pending();
  if (busy_nodes_.expire(now)) tell_busy();
  Run* run = find(active_);
  if (run == nullptr) return;
  for_active_tasks([now](TaskMachine& task, TaskActions& out) {
    if (const auto due = task.next_tick(); due && now >= *due) task.tick(now, out);
  });
  if (!run->ended)
    feed(*run, [now](RunMachine& machine, RunActions& out) { machine.tick(now, out); });
}

void Director::tell_busy() {
  Run* run = find(active_);
  if (run == nullptr || run->ended) return;
  feed(*run, [&](RunMachine& machine, RunActions& out) {
    machine.set_busy(busy_nodes_.text(), fleet::monotonic_seconds(), out);
  });
}

void Director::note_busy(const std::string& node, const std::string& why) {
  if (busy_nodes_.busy(node, why)) tell_busy();
}

void Director::note_idle(const std::string& node) {
  if (busy_nodes_.idle(node)) tell_busy();
}

// One that is as busy as before it was lost is not told anew.
void Director::note_heard(const std::string& node) {
  const auto known = fleet_.nodes().find(node);
  if (known == fleet_.nodes().end()) return;
  if (const std::string why = fleet::busy_text(known->second); !why.empty())
    note_busy(node, why);
  else
    busy_nodes_.back(node);
}

// --- carrying out
// --------------------------------------------------------------------------------------

void Director::feed(Run& run, std::size_t index,
                    const std::function<void(TaskMachine&, TaskActions&)>& event) {
  const auto task = run.active.find(index);
  if (task == run.active.end()) return;
  TaskActions out;
  event(task->second, out);
  for (TaskAction& action : out) run.task_actions.emplace_back(index, std::move(action));
}

void Director::feed(Run& run, const std::function<void(RunMachine&, RunActions&)>& event) {
  RunActions out;
  event(run.machine, out);
  for (RunAction& action : out) run.run_actions.push_back(std::move(action));
  show_state(run);
  drive(run);
}

// Iterative, since a task that ends at once starts the next: a run over lost nodes may be long. A
// run is removed only later, by finalize(), so `run` stays alive here.
void Director::drive(Run& run) {
  if (run.driving) return;
  run.driving = true;
  while (!run.task_actions.empty() || !run.run_actions.empty()) {
    if (!run.task_actions.empty()) {
      const auto [index, action] = std::move(run.task_actions.front());
      run.task_actions.pop_front();
      std::visit([&, i = index](const auto& one) { act(run, i, one); }, action);
    } else {
      const RunAction action = std::move(run.run_actions.front());
      run.run_actions.pop_front();
      std::visit([&](const auto& one) { act(run, one); }, action);
    }
  }
  run.driving = false;
}

void Director::finalize(const std::string& run_id) {
  Run* run = find(run_id);
  if (run == nullptr) return;
  run->finalized = true;
  run->summary.set_outcome(run->end.outcome.value_or(""));
  if (!run->end.reason.value_or("").empty()) run->summary.set_reason(*run->end.reason);
  run->summary.set_ended_at(rfc3339(run->end.ended_at.value_or(0)));
  tell(*run, "", run->summary.outcome());
  for (const auto& watcher : run->watchers) watcher->end();
  runs_.erase(run_id);
  on_figures_(run_id);
  if (active_ == run_id) active_.clear();
  start_next();
}

// "ended" stands only when a query would show the end, its outcome and its tasks.
void Director::show_state(Run& run) {
  RunState state = run.machine.state();
  if (state == RunState::kEnded && !run.finalized) {
    if (run.summary.state() == name_of(RunState::kCancelling)) return;
    state = RunState::kRunning;
  }
  run.summary.set_state(std::string(name_of(state)));
}

void Director::tell(Run& run, const std::string& task_id, std::string text) {
  show_state(run);
  run.summary.set_tasks_total(static_cast<std::uint32_t>(run.machine.tasks_total()));
  run.summary.set_tasks_ended(run.machine.tasks_ended());
  run.summary.mutable_outcomes()->clear();
  run.summary.mutable_outcomes()->insert(run.machine.outcomes().begin(),
                                         run.machine.outcomes().end());
  api::RunEvent event;
  *event.mutable_run() = run.summary;
  event.set_task_id(task_id);
  event.set_text(std::move(text));
  show_progress(run.machine, run.forecast, *event.mutable_progress());
  for (const auto& watcher : run.watchers) watcher->event(event);
}

}  // namespace railgauge::run

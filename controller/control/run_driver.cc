#include "controller/control/run_driver.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/control/run_tasks.h"
#include "controller/fleet/convert.h"
#include "controller/metric/controller_metrics.h"
#include "controller/plan/follow_up.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::run {
namespace {

// The task of a plan as the input of a task machine.
TaskSpec task_spec_of(const plan::PlannedTask& task, bool forced) {
  TaskSpec spec{.task_id = task.id, .deadline_seconds = task.deadline_seconds, .forced = forced};
  for (const plan::PlannedRank& rank : task.ranks) spec.ranks.push_back({rank.node, rank.endpoint});
  return spec;
}

// The nodes of a task in rank order, separated by spaces.
std::string nodes_text(const plan::PlannedTask& task) {
  std::vector<std::string> nodes;
  for (const plan::PlannedRank& rank : task.ranks) nodes.push_back(rank.node);
  return fmt::format("{}", fmt::join(nodes, " "));
}

// "failed (wrong data)", or the outcome alone.
std::string with_reason(std::string_view outcome, const std::string& reason) {
  return reason.empty() ? std::string(outcome) : fmt::format("{} ({})", outcome, reason);
}

}  // namespace

namespace {

api::ControllerMessage cancel_message(const api::TaskRef& ref, std::string outcome,
                                      std::string reason) {
  api::ControllerMessage message;
  *message.mutable_cancel()->mutable_task() = ref;
  message.mutable_cancel()->set_outcome(std::move(outcome));
  message.mutable_cancel()->set_reason(std::move(reason));
  return message;
}

}  // namespace

void cancel_attempt(fleet::Fleet& fleet, const std::string& node, const api::TaskRef& ref,
                    std::string outcome, std::string reason) {
  fleet.send(node, cancel_message(ref, std::move(outcome), std::move(reason)));
}

RunDriver::RunDriver(RunOrder order, Edges edges, Callbacks callbacks)
    : edges_(edges),
      callbacks_(std::move(callbacks)),
      order_(std::move(order)),
      book_(order_.outline),
      node_ids_(std::make_shared<const std::map<std::string, std::string>>(order_.node_ids)),
      machine_(std::make_shared<const PlannedTasks>(
                   book_, [&fleet = edges_.fleet]() -> auto& { return fleet.nodes(); }),
               order_.policy, order_.uplinks),
      forecast_(forecast_rounds(book_.head())),
      round_times_(order_.policy.settle_seconds) {
  machine_.share_uplinks(edges_.uplinks, order_.row.run_id);
  summary_ = to_api(store::RunSummaryRow{
      .run = order_.row, .tasks_total = static_cast<std::uint32_t>(book_.planned())});
}

Status RunDriver::watch(std::shared_ptr<RunWatcher> watcher) {
  if (watchers_.size() >= kMaxWatchers)
    return fail(Code::kResourceExhausted,
                fmt::format("run {} has {} watchers already", order_.row.run_id, kMaxWatchers));
  api::RunEvent event;
  *event.mutable_run() = summary_;
  event.set_text(summary_.state());
  show_progress(machine_, forecast_, *event.mutable_progress());
  watcher->event(event);
  watchers_.push_back(std::move(watcher));
  return {};
}

void RunDriver::unwatch(const RunWatcher* watcher) {
  std::erase_if(watchers_, [watcher](const auto& one) { return one.get() == watcher; });
}

void RunDriver::start(const std::string& busy) {
  const double started_at = fleet::unix_seconds();
  edges_.uplinks.join(order_.row.run_id, order_.uplinks);
  summary_.set_started_at(rfc3339(started_at));
  store::RunUpdate update;
  update.run_id = order_.row.run_id;
  update.state = RunState::kRunning;
  update.started_at = started_at;
  save(std::move(update));
  feed([&](RunMachine& machine, RunActions& out) {
    const double now = fleet::monotonic_seconds();
    forecast_.start(now);
    machine.set_busy(busy, now, out);
    machine.start(now, out);
  });
  if (!ended_) publish("", "started");
}

void RunDriver::cancel(const std::string& reason, const std::string& cancelled_by) {
  if (ended_) return;
  const bool first = machine_.state() != RunState::kCancelling;
  if (first) cancelled_by_ = cancelled_by;
  spdlog::info("run {}: {}", order_.row.run_id, reason);
  feed([&](RunMachine& machine, RunActions& out) { machine.cancel(reason, out); });
  if (ended_) return;
  if (first) {
    // The stored reason survives a controller that is killed before the run has ended.
    store::RunUpdate update;
    update.run_id = order_.row.run_id;
    update.state = machine_.state();
    update.reason =
        order_.row.reason.empty() ? reason : fmt::format("{}; {}", order_.row.reason, reason);
    update.cancelled_by = cancelled_by_;
    save(std::move(update));
  }
  publish("", reason);
}

void RunDriver::set_busy(const std::string& busy) {
  if (ended_) return;
  feed([&](RunMachine& machine, RunActions& out) {
    machine.set_busy(busy, fleet::monotonic_seconds(), out);
  });
}

void RunDriver::lend(const std::vector<std::string>& nodes, const std::string& to) {
  if (ended_) return;
  const double now = fleet::monotonic_seconds();
  for (const std::string& node : nodes) lent_since_[node] = now;
  feed([&](RunMachine& machine, RunActions& out) {
    machine.lend(nodes, fmt::format("run {}", to), now, out);
  });
  if (!ended_) publish("", fmt::format("lends {} to run {}", fold_names(nodes), to));
}

void RunDriver::take_back(const std::vector<std::string>& nodes) {
  if (ended_ || nodes.empty()) return;
  const double now = fleet::monotonic_seconds();
  const auto since = lent_since_.find(nodes.front());
  const double seconds = since == lent_since_.end() ? 0 : now - since->second;
  for (const std::string& node : nodes) lent_since_.erase(node);
  loans_.push_back(fmt::format("{} lent to a gate for {:.0f} s", fold_names(nodes), seconds));
  publish("", fmt::format("has {} again", fold_names(nodes)));
  feed([&](RunMachine& machine, RunActions& out) { machine.take_back(nodes, now, out); });
}

// Lists show it as the reason, and watchers get one line when it changes.
void RunDriver::set_waits(std::span<const RunWait> waits) {
  if (ended_) return;
  std::string text = waits.empty() ? "" : fmt::format("waits for {}", text_of(waits));
  if (text == waits_) return;
  waits_ = std::move(text);
  show_reason();
  if (!waits_.empty() && machine_.state() == RunState::kPlanned) publish("", waits_);
}

void RunDriver::show_reason() {
  const std::string& own = order_.row.reason;
  const std::string reason =
      own.empty() || waits_.empty() ? own + waits_ : fmt::format("{}; {}", own, waits_);
  if (reason.empty())
    summary_.clear_reason();
  else
    summary_.set_reason(reason);
}

const TaskMachine* RunDriver::find_attempt(const api::TaskRef& ref, const std::string& node) const {
  const auto index = index_of_.find(ref.task_id());
  if (index == index_of_.end()) return nullptr;
  const auto task = active_.find(index->second);
  if (task == active_.end() || task->second.attempt() != ref.attempt()) return nullptr;
  const std::vector<RankSpec>& ranks = task->second.spec().ranks;
  if (ref.rank() >= ranks.size() || ranks[ref.rank()].node != node) return nullptr;
  return &task->second;
}

void RunDriver::feed_tasks(const TaskEvent& event) {
  std::vector<std::size_t> indices;
  for (const auto& [index, task] : active_) indices.push_back(index);
  for (const std::size_t index : indices) feed(index, event);
  drive();
}

void RunDriver::feed_task(const std::string& task_id, const TaskEvent& event) {
  feed(index_of_.at(task_id), event);
  drive();
}

void RunDriver::records_stored(const fleet::StoredRecords& rank) {
  const std::size_t index = index_of_.at(rank.task.task_id());
  check_limits(index, rank);
  std::optional<RankEnd> end;
  if (rank.final) end = RankEnd{rank.final->outcome(), rank.final->reason()};
  feed(index, [&](TaskMachine& machine, TaskActions& out) {
    machine.stored(rank.task.attempt(), rank.task.rank(), rank.points, end,
                   fleet::monotonic_seconds(), out);
  });
  drive();
}

// Compares the points with the suite's limits and keeps the first one that is exceeded.
void RunDriver::check_limits(std::size_t index, const fleet::StoredRecords& rank) {
  const plan::Plan& plan = book_.head();
  const std::size_t stage = book_.at(index)->stage;
  if (stage >= plan.stages.size() || plan.stages[stage].limits.empty()) return;
  for (const fleet::StoredFigure& figure : rank.figures) {
    const std::optional<std::uint64_t> size(static_cast<std::uint64_t>(figure.message_bytes));
    if (auto problem =
            plan::limit_problem(plan.stages[stage].limits, figure.metric, size, figure.headline))
      beyond_.try_emplace(index, std::move(*problem));
  }
}

// A task that passed and exceeds a limit of its suite has failed.
RankEnd RunDriver::judged_end(std::size_t index, const RankEnd& end) const {
  const auto beyond = beyond_.find(index);
  return beyond == beyond_.end() || end.outcome != kPassed
             ? end
             : RankEnd{std::string(kFailed), beyond->second};
}

void RunDriver::tick(double now) {
  std::erase_if(held_since_,
                [this](const auto& held) { return edges_.fleet.held_text(held.first).empty(); });
  feed_tasks([now](TaskMachine& task, TaskActions& out) {
    if (const auto due = task.next_tick(); due && now >= *due) task.tick(now, out);
  });
  if (!ended_) feed([now](RunMachine& machine, RunActions& out) { machine.tick(now, out); });
}

// Feeds an event to one task and queues its actions.
void RunDriver::feed(std::size_t index, const TaskEvent& event) {
  const auto task = active_.find(index);
  if (task == active_.end()) return;
  TaskActions out;
  event(task->second, out);
  for (TaskAction& action : out) task_actions_.emplace_back(index, std::move(action));
}

// Feeds an event to the run and carries out all queued actions.
void RunDriver::feed(const std::function<void(RunMachine&, RunActions&)>& event) {
  RunActions out;
  event(machine_, out);
  for (RunAction& action : out) run_actions_.push_back(std::move(action));
  show_state();
  drive();
}

// A loop, not a recursion: a task that ends at once starts the next one, and a run over lost nodes
// ends many tasks at once. The driver stays alive here, since end_stored() destroys it later.
void RunDriver::drive() {
  if (driving_) return;
  driving_ = true;
  while (!task_actions_.empty() || !run_actions_.empty()) {
    if (!task_actions_.empty()) {
      const auto [index, action] = std::move(task_actions_.front());
      task_actions_.pop_front();
      std::visit([&, i = index](const auto& one) { act(i, one); }, action);
    } else {
      const RunAction action = std::move(run_actions_.front());
      run_actions_.pop_front();
      std::visit([&](const auto& one) { act(one); }, action);
    }
  }
  driving_ = false;
}

// The name of a rank's current attempt on the wire.
api::TaskRef RunDriver::ref_of(std::size_t index, std::uint32_t rank) const {
  api::TaskRef ref;
  ref.set_run_id(order_.row.run_id);
  ref.set_task_id(book_.at(index)->id);
  ref.set_attempt(active_.at(index).attempt());
  ref.set_rank(rank);
  return ref;
}

std::string RunDriver::node_of(std::size_t index, std::uint32_t rank) const {
  return book_.at(index)->ranks[rank].node;
}

// Stores the tasks of a round that begins. Their rows are made on the thread that stores them.
void RunDriver::act(const OpenRound& action) {
  const plan::RoundTasks tasks = book_.round(action.round);
  round_times_.add(book_.outline().first_of(action.round), timed_tasks(*tasks));
  const store::TaskRows rows{
      .count = tasks->size(),
      .row = [tasks, outline = order_.outline, ids = node_ids_](std::size_t i) {
        return task_row(outline.head(), (*tasks)[i], *ids);
      }};
  edges_.writes.save([&store = edges_.store, id = order_.row.run_id,
                      stage = book_.head().round_infos[action.round].stage,
                      rows] { return store.begin_round(id, stage, rows); });
}

std::string RunDriver::held_text(const std::string& node) const {
  return edges_.fleet.held_text(node, order_.proved.contains(node));
}

// Starts a task. A task that waited for another start counts its earlier attempts.
void RunDriver::act(const StartTask& action) {
  const plan::TaskHandle handle = book_.at(action.index);
  const plan::PlannedTask& task = *handle;
  std::map<std::string, Presence> presence;
  for (const plan::PlannedRank& rank : task.ranks)
    if (const auto node = edges_.fleet.nodes().find(rank.node); node != edges_.fleet.nodes().end())
      presence[rank.node] = {node->second.presence, node->second.presence_since};
  TaskSpec spec = task_spec_of(task, !order_.force_reason.empty());
  spec.max_attempts = order_.policy.max_attempts;
  if (const auto lost = interruptions_.find(action.index); lost != interruptions_.end())
    spec.max_attempts += lost->second;
  if (const auto before = attempts_.find(action.index); before != attempts_.end())
    spec.attempts_before = before->second;
  index_of_[task.id] = action.index;
  active_.emplace(action.index, TaskMachine(std::move(spec)));
  round_times_.begun(action.index, fleet::monotonic_seconds());
  feed(action.index, [&](TaskMachine& machine, TaskActions& out) {
    const double now = fleet::monotonic_seconds();
    for (const auto& [name, ignored] : presence) {
      const std::string why = held_text(name);
      if (why.empty()) continue;
      machine.node_busy(name, why, now, out);
      // One window a node, not one a task: hundreds of tasks would hold the run for days.
      machine.waits_since(held_since_.try_emplace(name, now).first->second);
    }
    machine.start(presence, now, out);
  });
}

void RunDriver::act(const GiveUpTask& action) {
  feed(action.index, [&](TaskMachine& machine, TaskActions& out) {
    machine.give_up(action.reason, fleet::monotonic_seconds(), out);
  });
}

void RunDriver::act(const CancelTaskAction& action) {
  feed(action.index, [&](TaskMachine& machine, TaskActions& out) {
    machine.cancel(action.reason, fleet::monotonic_seconds(), out);
  });
}

void RunDriver::act(const InterruptTask& action) {
  feed(action.index, [&](TaskMachine& machine, TaskActions& out) {
    machine.interrupt(action.reason, fleet::monotonic_seconds(), out);
  });
}

// Stores a task that ends without a start. One that the planner waived is stored as ended already.
void RunDriver::act(const SkipTask& action) {
  const plan::TaskHandle handle = book_.at(action.index);
  const plan::PlannedTask& task = *handle;
  if (task.waived_reason.empty()) {
    store::TaskUpdate update = task_update(action.index, TaskState::kEnded);
    update.outcome = action.outcome;
    update.reason = action.reason;
    save(std::move(update));
  }
  edges_.metrics.series().add("railgauge_tasks_total",
                              {{"kernel", task.kernel}, {"outcome", action.outcome}});
  publish(task.id, fmt::format("{} {} {}: {}", task.id, task.kernel, nodes_text(task),
                               with_reason(action.outcome, action.reason)));
}

// The tasks of rounds that will never begin have no rows: only their number is stored.
void RunDriver::act(const SkipRounds& action) {
  const plan::PlannedStage& stage = book_.head().stages[action.stage];
  edges_.writes.save(
      [&store = edges_.store, id = order_.row.run_id,
       rest = store::TaskRestRow{.stage = action.stage,
                                 .kernel = stage.kernel,
                                 .outcome = action.outcome,
                                 .reason = action.reason,
                                 .tasks = action.tasks}] { return store.end_rest(id, rest); });
  edges_.metrics.series().add("railgauge_tasks_total",
                              {{"kernel", stage.kernel}, {"outcome", action.outcome}},
                              static_cast<double>(action.tasks));
  publish("", fmt::format("stage {}: {} tasks: {}", stage.name, action.tasks,
                          with_reason(action.outcome, action.reason)));
}

// Adds the task that measures a failed end against another partner.
void RunDriver::act(const AddTask& action) {
  const Elsewhere& made_of = action.made_of;
  RG_CHECK(action.index == book_.size());
  const plan::TaskHandle failed = book_.at(made_of.failed);
  const plan::TaskHandle partner = book_.at(made_of.partner_task);
  add_to_plan(plan::with_partner(book_.head(), *failed, made_of.replaced_rank,
                                 partner->ranks[made_of.partner_rank]),
              fmt::format("since {} did not pass: the same against another partner", failed->id));
}

// Appends a task to the plan and stores it.
void RunDriver::add_to_plan(plan::PlannedTask added, const std::string& why) {
  const plan::TaskHandle handle = book_.at(book_.add(std::move(added)));
  const plan::PlannedTask& task = *handle;
  std::map<std::string, std::string> node_ids;
  for (const plan::PlannedRank& rank : task.ranks)
    node_ids[rank.node] = edges_.fleet.nodes().at(rank.node).hello->node_id();
  edges_.writes.save(
      [&store = edges_.store, id = order_.row.run_id,
       row = task_row(book_.head(), task, node_ids)] { return store.add_tasks(id, {row}); });
  publish(task.id, fmt::format("{} {} {}: added, {}", task.id, task.kernel, nodes_text(task), why));
}

// The pairs come from figures of the run, which take a while to read. They are asked for once.
void RunDriver::act(const WantFollowUps&) {
  if (drill_down_.has_begun() || !callbacks_.ask_pairs) return add_follow_ups({});
  callbacks_.ask_pairs(order_.outline);
}

// Adds the next wave of follow-ups; an empty wave ends the run.
void RunDriver::add_follow_ups(std::span<const plan::WantedPair> pairs,
                               const plan::PlannedPairs& planned) {
  if (ended_ || machine_.state() != RunState::kRunning) return;
  std::vector<plan::PlannedTask> tasks = drill_down_.next(
      book_, [this](std::size_t index) -> std::string_view { return machine_.outcome_of(index); },
      pairs, planned,
      [this](const std::string& name) -> std::optional<plan::PlanNode> {
        const auto node = edges_.fleet.nodes().find(name);
        return node == edges_.fleet.nodes().end() ? std::nullopt
                                                  : std::optional(plan_node_of(node->second));
      });
  const std::vector<RunTaskSpec> specs = run_tasks_of(tasks, edges_.fleet.nodes());
  RunActions out;
  if (!machine_.add_follow_ups(specs, fleet::monotonic_seconds(), out)) return;
  for (plan::PlannedTask& task : tasks) {
    const std::string& purpose = task.facts[plan::kFollowUpFact];
    const std::string why = purpose == plan::kMeasuredTwice
                                ? "to measure by how much two figures of the same pair differ"
                                : fmt::format("to find what is slow ({})", purpose);
    add_to_plan(std::move(task), why);
  }
  for (RunAction& action : out) run_actions_.push_back(std::move(action));
  show_state();
  drive();
}

// Sends a rank its kernel, parameters, placement and facts.
void RunDriver::act(std::size_t index, const SendPrepare& action) {
  const plan::TaskHandle handle = book_.at(index);
  const plan::PlannedTask& task = *handle;
  api::ControllerMessage message;
  api::PrepareTask& prepare = *message.mutable_prepare();
  *prepare.mutable_task() = ref_of(index, action.rank);
  prepare.set_kernel(task.kernel);
  prepare.mutable_parameters()->insert(task.parameters.begin(), task.parameters.end());
  prepare.mutable_site_defaults()->Assign(task.site_defaults.begin(), task.site_defaults.end());
  prepare.set_size(static_cast<std::uint32_t>(task.ranks.size()));
  prepare.set_endpoint(task.ranks[action.rank].endpoint);
  prepare.set_deadline_seconds(task.deadline_seconds);
  prepare.set_raw_samples(task.raw_samples);
  prepare.mutable_facts()->insert(task.facts.begin(), task.facts.end());
  // The memory of the rank, if the placement or a follow-up chose a GPU: each rank has its own.
  if (const std::string& gpu = task.ranks[action.rank].gpu; !gpu.empty()) {
    prepare.set_gpu(gpu);
    (*prepare.mutable_parameters())["gpu"] = gpu.substr(std::string_view("gpu").size());
  }
  if (!order_.force_reason.empty()) {
    prepare.set_forced(true);
    (*prepare.mutable_facts())["forced"] = order_.force_reason;
  }
  send(index, action.rank, std::move(message));
}

void RunDriver::act(std::size_t index, const SendGo& action) {
  api::ControllerMessage message;
  *message.mutable_go()->mutable_task() = ref_of(index, action.rank);
  send(index, action.rank, std::move(message));
  if (action.rank == 0) save(task_update(index, TaskState::kRunning));
}

void RunDriver::act(std::size_t index, const SendStep& action) {
  api::ControllerMessage message;
  *message.mutable_step()->mutable_task() = ref_of(index, action.rank);
  *message.mutable_step()->mutable_step() = action.answer();
  send(index, action.rank, std::move(message));
}

void RunDriver::act(std::size_t index, const SendCancel& action) {
  send(index, action.rank,
       cancel_message(ref_of(index, action.rank), action.outcome, action.reason));
}

// The store has to know the attempt before an agent does: attempt_stored() sends its messages.
void RunDriver::act(std::size_t index, const AttemptStarted& action) {
  beyond_.erase(index);
  held_[index] = {.attempt = action.attempt};
  edges_.writes.save([&store = edges_.store, update = task_update(index, TaskState::kPreparing),
                      done = [answer = callbacks_.attempt_stored, index, attempt = action.attempt](
                                 const Status& stored) { answer(index, attempt, stored); }] {
    Status taken = store.update_task(update, done);
    if (!taken && !is_busy(taken)) done(taken);
    return taken;
  });
}

void RunDriver::send(std::size_t index, std::uint32_t rank, api::ControllerMessage message) {
  if (const auto held = held_.find(index); held != held_.end())
    held->second.messages.emplace_back(rank, std::move(message));
  else
    edges_.fleet.send(node_of(index, rank), std::move(message));
}

void RunDriver::attempt_stored(std::size_t index, std::uint32_t attempt, const Status& stored) {
  const auto held = held_.find(index);
  if (held == held_.end() || held->second.attempt != attempt) return;  // it is over
  const Held waiting = std::move(held->second);
  held_.erase(held);
  if (stored) {
    for (const auto& [rank, message] : waiting.messages)
      edges_.fleet.send(node_of(index, rank), message);
    return;
  }
  const std::string reason =
      fmt::format("the start of the attempt was not stored: {}", stored.error().message);
  const std::size_t ranks = book_.at(index)->ranks.size();
  feed(index, [&](TaskMachine& machine, TaskActions& out) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      machine.refused(attempt, rank, std::string(kCrashed), reason, fleet::monotonic_seconds(),
                      out);
  });
  drive();
}

bool RunDriver::uses(const std::string& node) const {
  return std::ranges::find(plan().nodes, node) != plan().nodes.end();
}

// Stores the end of an attempt. A requeued task is reported to the watchers.
void RunDriver::act(std::size_t index, const AttemptEnded& action) {
  const RankEnd end = judged_end(index, {action.outcome, action.reason});
  const std::string task_id = book_.at(index)->id;
  store::TaskUpdate update =
      task_update(index, action.requeued ? TaskState::kWaiting : TaskState::kRunning);
  update.outcome = end.outcome;
  update.reason = end.reason;
  update.attempts = action.attempt;
  save(std::move(update));
  if (action.requeued)
    publish(task_id,
            fmt::format("{} attempt {}: {}; it is tried again when its nodes can be used", task_id,
                        action.attempt, with_reason(action.outcome, action.reason)));
}

// Stores the end of the task, or keeps it for another start after the last round.
void RunDriver::act(std::size_t index, const TaskFinished& action) {
  const plan::TaskHandle handle = book_.at(index);
  const plan::PlannedTask& task = *handle;
  const std::uint32_t attempts = active_.at(index).attempt();
  const std::uint32_t before = active_.at(index).spec().attempts_before;
  active_.erase(index);
  index_of_.erase(task.id);
  held_.erase(index);
  const RankEnd end = judged_end(index, {action.outcome, action.reason});
  beyond_.erase(index);
  // The machine is called directly, not through feed(), since drive() is on the stack.
  RunActions out;
  const bool again = machine_.task_ended(
      index, {end.outcome, end.reason, action.may_retry, action.unverified, action.interrupted},
      fleet::monotonic_seconds(), out);
  for (RunAction& one : out) run_actions_.push_back(std::move(one));
  round_times_.ended(index, attempts == 1 && end.outcome == "passed", fleet::monotonic_seconds());
  if (again) attempts_[index] = attempts;
  // Only the last attempt of a start is interrupted, and none if the task had not begun.
  if (again && action.interrupted && attempts > before) ++interruptions_[index];
  store::TaskUpdate update = task_update(index, again ? TaskState::kWaiting : TaskState::kEnded);
  update.outcome = end.outcome;
  update.reason = end.reason;
  save(std::move(update));
  if (!again)
    edges_.metrics.series().add("railgauge_tasks_total",
                                {{"kernel", task.kernel}, {"outcome", end.outcome}});
  publish(task.id, fmt::format("{} {} {}: {}{}", task.id, task.kernel, nodes_text(task),
                               with_reason(end.outcome, end.reason),
                               !again               ? ""
                               : action.interrupted ? "; it is measured when its nodes are back"
                                                    : "; it is tried again after the last round"));
}

// The reasons of the order, the machine, the drill-down and the loans.
std::string RunDriver::reason_of(const std::string& machine_reason) const {
  std::vector<std::string> reasons;
  if (!order_.row.reason.empty()) reasons.push_back(order_.row.reason);
  if (!machine_reason.empty()) reasons.push_back(machine_reason);
  for (const std::string& note : drill_down_.notes()) reasons.push_back(note);
  for (const std::string& loan : loans_) reasons.push_back(loan);
  return fmt::format("{}", fmt::join(reasons, "; "));
}

// Stores the end of the run.
void RunDriver::act(const RunFinished& action) {
  const double now = fleet::unix_seconds();
  ended_ = true;
  store::RunUpdate update;
  update.run_id = order_.row.run_id;
  update.state = RunState::kEnded;
  update.outcome = action.outcome;
  update.reason = reason_of(action.reason);
  update.ended_at = now;
  update.stage_times = stage_times(plan(), round_times_.stages());
  if (!cancelled_by_.empty()) update.cancelled_by = cancelled_by_;
  end_ = update;
  waits_.clear();
  show_reason();
  spdlog::info("run {}: {}", order_.row.run_id, with_reason(action.outcome, action.reason));
  edges_.metrics.run_ended(plan().suite, order_.row.trigger, action.outcome, now);
  // Watchers get the end when a query would show it, so finish() waits for the commit.
  edges_.writes.save([&store = edges_.store, update, end_stored = callbacks_.end_stored] {
    const auto done = [end_stored, id = update.run_id](const Status& status) {
      if (!status) spdlog::error("run {}: its end was not stored: {}", id, status.error().message);
      end_stored();
    };
    Status taken = store.update_run(update, done);
    if (!taken && !is_busy(taken)) done(taken);
    return taken;
  });
}

void RunDriver::finish() {
  finished_ = true;
  summary_.set_outcome(end_.outcome.value_or(""));
  if (!end_.reason.value_or("").empty()) summary_.set_reason(*end_.reason);
  summary_.set_ended_at(rfc3339(end_.ended_at.value_or(0)));
  publish("", summary_.outcome());
  for (const auto& watcher : watchers_) watcher->end();
}

store::TaskUpdate RunDriver::task_update(std::size_t index, TaskState state) const {
  store::TaskUpdate update;
  update.run_id = order_.row.run_id;
  update.task_id = book_.at(index)->id;
  update.state = state;
  // Without an attempt under way the stored number stays.
  if (const auto task = active_.find(index); task != active_.end())
    update.attempts = task->second.attempt();
  return update;
}

void RunDriver::save(store::TaskUpdate update) {
  edges_.writes.save(
      [&store = edges_.store, moved = std::move(update)] { return store.update_task(moved); });
}

void RunDriver::save(store::RunUpdate update) {
  edges_.writes.save(
      [&store = edges_.store, moved = std::move(update)] { return store.update_run(moved); });
}

// The summary shows "ended" only when a query would show the end, its outcome and its tasks.
void RunDriver::show_state() {
  RunState state = machine_.state();
  if (state == RunState::kEnded && !finished_) {
    if (summary_.state() == text_of(RunState::kCancelling)) return;
    state = RunState::kRunning;
  }
  summary_.set_state(std::string(text_of(state)));
}

// Sends the state of the run to every watcher, with one line of text. Only the first event and the
// last one name the nodes: a run has thousands of both.
void RunDriver::publish(const std::string& task_id, std::string text) {
  show_state();
  summary_.set_tasks_total(static_cast<std::uint32_t>(machine_.tasks_total()));
  summary_.set_tasks_ended(machine_.tasks_ended());
  summary_.mutable_outcomes()->clear();
  summary_.mutable_outcomes()->insert(machine_.outcomes().begin(), machine_.outcomes().end());
  if (watchers_.empty()) return;
  api::RunEvent event;
  api::RunSummary nodes;
  if (!finished_) nodes.mutable_nodes()->Swap(summary_.mutable_nodes());
  *event.mutable_run() = summary_;
  if (!finished_) nodes.mutable_nodes()->Swap(summary_.mutable_nodes());
  event.set_task_id(task_id);
  event.set_text(std::move(text));
  show_progress(machine_, forecast_, *event.mutable_progress());
  for (const auto& watcher : watchers_) watcher->event(event);
}

}  // namespace railgauge::run

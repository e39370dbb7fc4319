// What the machines ask for: messages to agents, rows in the store, events to watchers.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/control/director.h"
#include "controller/control/run_tasks.h"
#include "controller/fleet/convert.h"
#include "controller/metric/controller_metrics.h"
#include "controller/plan/follow_up.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::run {
namespace {

Presence presence_of(const fleet::NodeState& node) {
  switch (node.presence) {
    case fleet::NodePresence::kAttached:
      return {Presence::State::kAttached, node.presence_since};
    case fleet::NodePresence::kDetached:
      return {Presence::State::kDetached, node.presence_since};
    case fleet::NodePresence::kLost:
      break;
  }
  return {Presence::State::kLost, node.presence_since};
}

TaskSpec task_spec_of(const plan::PlannedTask& task, bool forced) {
  TaskSpec spec{.task_id = task.id, .deadline_seconds = task.deadline_seconds, .forced = forced};
  for (const plan::PlannedRank& rank : task.ranks) spec.ranks.push_back({rank.node, rank.endpoint});
  return spec;
}

std::string nodes_text(const plan::PlannedTask& task) {
  std::vector<std::string> nodes;
  for (const plan::PlannedRank& rank : task.ranks) nodes.push_back(rank.node);
  return fmt::format("{}", fmt::join(nodes, " "));
}

std::string with_reason(std::string_view outcome, const std::string& reason) {
  return reason.empty() ? std::string(outcome) : fmt::format("{} ({})", outcome, reason);
}

// Worth another try; anything else would fail for ever.
bool store_is_busy(const Status& status) {
  return !status && (status.error().code == Code::kResourceExhausted ||
                     status.error().code == Code::kUnavailable);
}

}  // namespace

api::TaskRef Director::ref_of(const Run& run, std::size_t index, std::uint32_t rank) const {
  api::TaskRef ref;
  ref.set_run_id(run.order.run_id);
  ref.set_task_id(run.order.plan.tasks[index].id);
  ref.set_attempt(run.active.at(index).attempt());
  ref.set_rank(rank);
  return ref;
}

const std::string& Director::node_of(const Run& run, std::size_t index, std::uint32_t rank) const {
  return run.order.plan.tasks[index].ranks[rank].node;
}

void Director::act(Run& run, const StartTask& action) {
  const plan::PlannedTask& task = run.order.plan.tasks[action.index];
  std::map<std::string, Presence> presence;
  for (const plan::PlannedRank& rank : task.ranks)
    if (const auto node = fleet_.nodes().find(rank.node); node != fleet_.nodes().end())
      presence[rank.node] = presence_of(node->second);
  TaskSpec spec = task_spec_of(task, !run.order.force_reason.empty());
  spec.max_attempts = run.order.plan.policy.max_attempts;
  if (const auto before = run.attempts.find(action.index); before != run.attempts.end())
    spec.attempts_before = before->second;
  run.active.emplace(action.index, TaskMachine(std::move(spec)));
  feed(run, action.index, [&](TaskMachine& machine, TaskActions& out) {
    for (const auto& [name, ignored] : presence)
      if (const std::string busy = fleet::busy_text(fleet_.nodes().at(name)); !busy.empty())
        machine.node_busy(name, busy, fleet::monotonic_seconds(), out);
    machine.start(presence, fleet::monotonic_seconds(), out);
  });
}

void Director::act(Run& run, const GiveUpTask& action) {
  feed(run, action.index, [&](TaskMachine& machine, TaskActions& out) {
    machine.give_up(action.reason, fleet::monotonic_seconds(), out);
  });
}

void Director::act(Run& run, const CancelTaskAction& action) {
  feed(run, action.index, [&](TaskMachine& machine, TaskActions& out) {
    machine.cancel(action.reason, fleet::monotonic_seconds(), out);
  });
}

void Director::act(Run& run, const SkipTask& action) {
  const plan::PlannedTask& task = run.order.plan.tasks[action.index];
  store::TaskUpdate update;
  update.run_id = run.order.run_id;
  update.task_id = task.id;
  update.state = "ended";
  update.outcome = action.outcome;
  update.reason = action.reason;
  save([this, update] { return store_.update_task(update); });
  metrics_.task_ended(task.kernel, action.outcome);
  tell(run, task.id,
       fmt::format("{} {} {}: {}", task.id, task.kernel, nodes_text(task),
                   with_reason(action.outcome, action.reason)));
}

void Director::act(Run& run, const AddTask& action) {
  const plan::Plan& plan = run.order.plan;
  const Elsewhere& made_of = action.made_of;
  RG_CHECK(action.index == plan.tasks.size());
  const plan::PlannedTask& failed = plan.tasks[made_of.failed];
  add_to_plan(run,
              plan::with_partner(plan, failed, made_of.replaced_rank,
                                 plan.tasks[made_of.partner_task].ranks[made_of.partner_rank]),
              fmt::format("since {} did not pass: the same against another partner", failed.id));
}

void Director::add_to_plan(Run& run, plan::PlannedTask added, const std::string& why) {
  plan::Plan& plan = run.order.plan;
  run.index_of[added.id] = plan.tasks.size();
  plan.tasks.push_back(std::move(added));
  const plan::PlannedTask& task = plan.tasks.back();
  std::map<std::string, std::string> node_ids;
  for (const plan::PlannedRank& rank : task.ranks)
    node_ids[rank.node] = fleet_.nodes().at(rank.node).hello.node_id();
  save([this, id = run.order.run_id, row = task_row(task, node_ids)] {
    return store_.add_tasks(id, {row});
  });
  tell(run, task.id,
       fmt::format("{} {} {}: added, {}", task.id, task.kernel, nodes_text(task), why));
}

// The figures are read elsewhere, which takes as long as their number wants.
void Director::act(Run& run, const WantFollowUps&) {
  if (run.drill_down.has_begun() || !ask_pairs_) return add_follow_ups(run, {});
  ask_pairs_(run.order.run_id, [this, id = run.order.run_id](std::vector<plan::WantedPair> pairs) {
    loop_.post([this, id, pairs = std::move(pairs)] {
      if (Run* asked = find(id); asked != nullptr && !asked->ended) add_follow_ups(*asked, pairs);
    });
  });
}

void Director::add_follow_ups(Run& run, const std::vector<plan::WantedPair>& pairs) {
  if (run.machine.state() != RunState::kRunning) return;
  std::vector<plan::PlannedTask> tasks = run.drill_down.next(
      run.order.plan,
      [&run](std::size_t index) -> std::string_view { return run.machine.outcome_of(index); },
      pairs,
      [this](const std::string& name) -> std::optional<plan::PlanNode> {
        const auto node = fleet_.nodes().find(name);
        return node == fleet_.nodes().end() ? std::nullopt
                                            : std::optional(plan_node_of(node->second));
      });
  plan::Plan wave{.tasks = std::move(tasks)};
  const std::vector<RunTaskSpec> specs = run_tasks_of(wave, fleet_.nodes());
  RunActions out;
  if (!run.machine.add_follow_ups(specs, fleet::monotonic_seconds(), out)) return;
  for (plan::PlannedTask& task : wave.tasks) {
    const std::string& purpose = task.facts[plan::kFollowUpFact];
    const std::string why = purpose == plan::kMeasuredTwice
                                ? "to tell by how much two figures of the same differ"
                                : fmt::format("to tell what is slow ({})", purpose);
    add_to_plan(run, std::move(task), why);
  }
  for (RunAction& action : out) run.run_actions.push_back(std::move(action));
  show_state(run);
  drive(run);
}

void Director::act(Run& run, std::size_t index, const SendPrepare& action) {
  const plan::PlannedTask& task = run.order.plan.tasks[index];
  api::ControllerMessage message;
  api::PrepareTask& prepare = *message.mutable_prepare();
  *prepare.mutable_task() = ref_of(run, index, action.rank);
  prepare.set_kernel(task.kernel);
  prepare.mutable_parameters()->insert(task.parameters.begin(), task.parameters.end());
  prepare.mutable_site_defaults()->Assign(task.site_defaults.begin(), task.site_defaults.end());
  prepare.set_size(static_cast<std::uint32_t>(task.ranks.size()));
  prepare.set_endpoint(task.ranks[action.rank].endpoint);
  prepare.set_deadline_seconds(task.deadline_seconds);
  prepare.set_raw_samples(task.raw_samples);
  prepare.mutable_facts()->insert(task.facts.begin(), task.facts.end());
  // Whose memory the rank uses, where the placement or a follow-up chose it: each rank its own.
  if (const std::string& gpu = task.ranks[action.rank].gpu; !gpu.empty()) {
    prepare.set_gpu(gpu);
    (*prepare.mutable_parameters())["gpu"] = gpu.substr(std::string_view("gpu").size());
  }
  if (!run.order.force_reason.empty()) {
    prepare.set_forced(true);
    (*prepare.mutable_facts())["forced"] = run.order.force_reason;
  }
  fleet_.send(node_of(run, index, action.rank), std::move(message));
}

void Director::act(Run& run, std::size_t index, const SendGo& action) {
  api::ControllerMessage message;
  *message.mutable_go()->mutable_task() = ref_of(run, index, action.rank);
  fleet_.send(node_of(run, index, action.rank), std::move(message));
  if (action.rank == 0) save_task(run, index, "running");
}

void Director::act(Run& run, std::size_t index, const SendStep& action) {
  api::ControllerMessage message;
  *message.mutable_step()->mutable_task() = ref_of(run, index, action.rank);
  *message.mutable_step()->mutable_step() = action.answer();
  fleet_.send(node_of(run, index, action.rank), std::move(message));
}

void Director::act(Run& run, std::size_t index, const SendCancel& action) {
  send_cancel(node_of(run, index, action.rank), ref_of(run, index, action.rank), action.outcome,
              action.reason);
}

void Director::send_cancel(const std::string& node, const api::TaskRef& ref, std::string outcome,
                           std::string reason) {
  api::ControllerMessage message;
  *message.mutable_cancel()->mutable_task() = ref;
  message.mutable_cancel()->set_outcome(std::move(outcome));
  message.mutable_cancel()->set_reason(std::move(reason));
  fleet_.send(node, std::move(message));
}

void Director::act(Run& run, std::size_t index, const AttemptStarted&) {
  run.beyond.erase(index);
  save_task(run, index, "preparing");
}

void Director::act(Run& run, std::size_t index, const AttemptEnded& action) {
  const RankEnd end = judged_end(run, index, {action.outcome, action.reason});
  store::TaskUpdate update;
  update.run_id = run.order.run_id;
  update.task_id = run.order.plan.tasks[index].id;
  update.state = action.requeued ? "waiting" : "running";
  update.outcome = end.outcome;
  update.reason = end.reason;
  update.attempts = action.attempt;
  save([this, update] { return store_.update_task(update); });
  if (action.requeued)
    tell(run, update.task_id,
         fmt::format("{} attempt {}: {}; it is tried again when its nodes can be used",
                     update.task_id, action.attempt, with_reason(action.outcome, action.reason)));
}

void Director::act(Run& run, std::size_t index, const TaskFinished& action) {
  const plan::PlannedTask& task = run.order.plan.tasks[index];
  const std::uint32_t attempts = run.active.at(index).attempt();
  run.active.erase(index);
  const RankEnd end = judged_end(run, index, {action.outcome, action.reason});
  run.beyond.erase(index);
  // Not through feed(): this is called from drive().
  RunActions out;
  const bool again =
      run.machine.task_ended(index, {end.outcome, end.reason, action.may_retry, action.unverified},
                             fleet::monotonic_seconds(), out);
  for (RunAction& one : out) run.run_actions.push_back(std::move(one));
  if (again) run.attempts[index] = attempts;
  store::TaskUpdate update;
  update.run_id = run.order.run_id;
  update.task_id = task.id;
  update.state = again ? "waiting" : "ended";
  update.outcome = end.outcome;
  update.reason = end.reason;
  save([this, update] { return store_.update_task(update); });
  if (!again) metrics_.task_ended(task.kernel, end.outcome);
  tell(run, task.id,
       fmt::format("{} {} {}: {}{}", task.id, task.kernel, nodes_text(task),
                   with_reason(end.outcome, end.reason),
                   again ? "; it is tried again after the last round" : ""));
}

void Director::act(Run& run, const RunFinished& action) {
  const double now = fleet::unix_seconds();
  run.ended = true;
  store::RunUpdate update;
  update.run_id = run.order.run_id;
  update.state = "ended";
  update.outcome = action.outcome;
  std::vector<std::string> reasons;
  if (!run.order.why.empty()) reasons.push_back(run.order.why);
  if (!action.reason.empty()) reasons.push_back(action.reason);
  for (const std::string& note : run.drill_down.notes()) reasons.push_back(note);
  update.reason = fmt::format("{}", fmt::join(reasons, "; "));
  update.ended_at = now;
  run.end = update;
  spdlog::info("run {}: {}", run.order.run_id, with_reason(action.outcome, action.reason));
  metrics_.run_ended(run.order.plan.suite, run.order.trigger, action.outcome, now);
  // Watchers hear of the end when a query would show it.
  save([this, update, id = run.order.run_id] {
    const auto done = [this, id](const Status& status) {
      if (!status) spdlog::error("run {}: its end was not stored: {}", id, status.error().message);
      loop_.post([this, id] { finalize(id); });
    };
    Status taken = store_.update_run(update, done);
    if (!taken && !store_is_busy(taken)) done(taken);
    return taken;
  });
}

// In order, and kept when the store is full: a lost end of a run would never be told.
void Director::save(std::function<Status()> write) {
  unsaved_.push_back(std::move(write));
  save_pending();
}

void Director::save_pending() {
  while (!unsaved_.empty()) {
    const Status written = unsaved_.front()();
    if (store_is_busy(written)) return;
    if (!written) spdlog::error("not stored: {}", written.error().message);
    unsaved_.pop_front();
  }
}

void Director::save_task(const Run& run, std::size_t index, std::string_view state) {
  store::TaskUpdate update;
  update.run_id = run.order.run_id;
  update.task_id = run.order.plan.tasks[index].id;
  update.state = std::string(state);
  update.attempts = run.active.at(index).attempt();
  save([this, update] { return store_.update_task(update); });
}

// With the reason, which a controller that is killed before the run has ended leaves to the next.
void Director::save_cancel(const Run& run, const std::string& reason) {
  store::RunUpdate update;
  update.run_id = run.order.run_id;
  update.state = std::string(name_of(run.machine.state()));
  update.reason = run.order.why.empty() ? reason : fmt::format("{}; {}", run.order.why, reason);
  save([this, update] { return store_.update_run(update); });
}

}  // namespace railgauge::run

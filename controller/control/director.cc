#include "controller/control/director.h"

#include <variant>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/control/run_tasks.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::run {
namespace {

constexpr const char* kNotExpected = "the controller does not expect this task any more";

}  // namespace

Director::Director(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store,
                   Metrics& metrics)
    : loop_(loop), fleet_(fleet), store_(store), metrics_(metrics) {}

Status Director::admits() const {
  if (stopping_) return fail(Code::kUnavailable, "the controller is stopping and takes no new run");
  if (queue_.waiting() < kMaxWaitingRuns) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("{} runs are waiting already; wait for one to end, or cancel one",
                          kMaxWaitingRuns));
}

std::shared_ptr<RunDriver> Director::make(RunOrder order) {
  const std::string id = order.row.run_id;
  RunDriver::Callbacks callbacks;
  if (ask_pairs_)
    callbacks.ask_pairs = [this, id](const plan::PlanOutline& outline) {
      ask_pairs_(id, [this, id, outline](std::vector<plan::WantedPair> pairs) {
        // On the thread of the answer: all tasks of a large plan take seconds.
        const plan::PlannedPairs planned =
            pairs.empty() ? plan::PlannedPairs() : plan::PlannedPairs(outline, pairs);
        loop_.post([this, id, planned, pairs = std::move(pairs)] {
          if (RunDriver* run = find(id); run != nullptr) run->add_follow_ups(pairs, planned);
        });
      });
    };
  callbacks.end_stored = [this, id] { loop_.post([this, id] { remove(id); }); };
  callbacks.attempt_stored = [this, id](std::size_t index, std::uint32_t attempt,
                                        const Status& stored) {
    const auto go_on = [this, id, index, attempt, stored] {
      loop_.post([this, id, index, attempt, stored] {
        if (RunDriver* run = find(id); run != nullptr) run->attempt_stored(index, attempt, stored);
      });
    };
    // One that is not stored begins nowhere: nothing has to know it.
    if (stored)
      fleet_.hold_start(go_on);
    else
      go_on();
  };
  return std::make_shared<RunDriver>(std::move(order),
                                     RunDriver::Edges{fleet_, store_, writes_, metrics_, uplinks_},
                                     std::move(callbacks));
}

void Director::submit(std::shared_ptr<RunDriver> run) {
  const std::string id = run->summary().run_id();
  spdlog::info("run {}: {} tasks, requested by {}", id, run->summary().tasks_total(),
               run->summary().requested_by());
  QueuedRun queued{.run_id = id,
                   .priority = priority_of(run->summary().trigger()),
                   .requester = run->summary().requested_by(),
                   .nodes = run->plan().nodes};
  runs_[id] = std::move(run);
  if (stopping_) return void(cancel(id, std::string(store::kControllerStopping)));
  QueueActions actions;
  queue_.add(std::move(queued), actions);
  carry_out(actions);
}

// Then each run learns what it waits for now.
void Director::carry_out(const QueueActions& actions) {
  for (const QueueAction& action : actions)
    std::visit([this](const auto& one) { act(one); }, action);
  clear_loans();
  for (const auto& [id, run] : runs_) run->set_waits(queue_.waits_of(id));
}

void Director::act(const BeginRun& action) {
  if (RunDriver* run = find(action.run_id); run != nullptr && !stopping_)
    run->start(busy_nodes_.text());
}

void Director::act(const LendNodes& action) {
  if (RunDriver* run = find(action.run_id); run != nullptr) run->lend(action.nodes, action.to);
}

void Director::act(const ReturnNodes& action) {
  if (RunDriver* run = find(action.run_id); run != nullptr) run->take_back(action.nodes);
}

// Hands lent nodes on that have no task under way any more.
void Director::clear_loans() {
  QueueActions actions;
  for (const auto& [id, node] : queue_.uncleared())
    if (const RunDriver* run = find(id); run == nullptr || !run->is_on(node))
      queue_.cleared(id, node, actions);
  if (!actions.empty()) carry_out(actions);
}

RunDriver* Director::find(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : found->second.get();
}

Result<api::RunSummary> Director::cancel(const std::string& run_id, const std::string& reason,
                                         const std::string& cancelled_by) {
  RunDriver* run = find(run_id);
  if (run == nullptr) return fail(Code::kNotFound, fmt::format("run {} is not under way", run_id));
  run->cancel(reason, cancelled_by);
  api::RunSummary cancelled = run->summary();
  // One that has begun keeps its nodes until its end is stored: its runners may be there.
  if (!queue_.has_begun(run_id)) {
    QueueActions actions;
    queue_.remove(run_id, actions);
    carry_out(actions);
  }
  return cancelled;
}

std::string Director::run_with(const std::string& node) const {
  for (const auto& [id, run] : runs_)
    if (run->uses(node)) return id;
  return "";
}

std::optional<api::RunSummary> Director::summary(const std::string& run_id) const {
  const RunDriver* run = find(run_id);
  if (run == nullptr) return std::nullopt;
  api::RunSummary summary = run->summary();
  // Waits for uplinks come and go with every task, so they are looked up for those who ask.
  if (run->ended()) return summary;
  if (const std::string uplinks = text_of(uplinks_.waits_of(run_id)); !uplinks.empty())
    summary.set_reason(fmt::format("{}{}waits for {}", summary.reason(),
                                   summary.reason().empty() ? "" : "; ", uplinks));
  return summary;
}

Status Director::watch(const std::string& run_id, std::shared_ptr<RunWatcher> watcher) {
  RunDriver* run = find(run_id);
  if (run == nullptr) return fail(Code::kNotFound, fmt::format("run {} is not under way", run_id));
  return run->watch(std::move(watcher));
}

void Director::unwatch(const std::string& run_id, const RunWatcher* watcher) {
  if (RunDriver* run = find(run_id); run != nullptr) run->unwatch(watcher);
}

void Director::stop(const std::string& reason) {
  stopping_ = true;
  std::vector<std::string> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const std::string& id : ids) static_cast<void>(cancel(id, reason));
}

// The run's end is stored, so it leaves, and those that waited for its nodes begin.
void Director::remove(const std::string& run_id) {
  RunDriver* run = find(run_id);
  if (run == nullptr) return;
  run->finish();
  runs_.erase(run_id);
  uplinks_.leave(run_id);
  on_figures_(run_id);
  QueueActions actions;
  queue_.remove(run_id, actions);
  carry_out(actions);
}

// The run of the attempt that `ref` names, if it is under way and its rank is on `node`; else null.
RunDriver* Director::run_of(const api::TaskRef& ref, const std::string& node) const {
  RunDriver* run = find(ref.run_id());
  return run != nullptr && run->find_attempt(ref, node) != nullptr ? run : nullptr;
}

// Cancels runners of attempts that are over, or of a run that an earlier controller began.
void Director::cancel_strays(const std::string& node, const std::vector<api::TaskRef>& running) {
  for (const api::TaskRef& ref : running)
    if (run_of(ref, node) == nullptr)
      cancel_attempt(fleet_, node, ref, std::string(kCancelledOutcome), kNotExpected);
}

void Director::feed_tasks(const RunDriver::TaskEvent& event) {
  for (const auto& [id, run] : runs_) run->feed_tasks(event);
}

void Director::node_attached(const std::string& name, const std::vector<api::TaskRef>& running) {
  note_heard(name);
  // The controller gave up the node's runners, also those that it still has after a long silence.
  for (const api::TaskRef& ref : running)
    cancel_attempt(fleet_, name, ref, std::string(kCancelledOutcome), kNotExpected);
  report_node(name, &TaskMachine::node_attached);
}

void Director::node_resumed(const std::string& name, const std::vector<api::TaskRef>& running) {
  note_heard(name);
  cancel_strays(name, running);
  for (const auto& [id, run] : runs_)
    run->feed_tasks([&, &run_id = id](TaskMachine& task, TaskActions& out) {
      std::vector<std::uint32_t> ranks;
      for (const api::TaskRef& ref : running)
        if (ref.run_id() == run_id && ref.task_id() == task.spec().task_id &&
            ref.attempt() == task.attempt())
          ranks.push_back(ref.rank());
      task.node_resumed(name, ranks, fleet::monotonic_seconds(), out);
    });
}

void Director::report_node(const std::string& name, NodeReport report) {
  feed_tasks([&](TaskMachine& task, TaskActions& out) {
    (task.*report)(name, fleet::monotonic_seconds(), out);
  });
}

void Director::node_detached(const std::string& name) {
  report_node(name, &TaskMachine::node_detached);
}

void Director::node_lost(const std::string& name) {
  busy_nodes_.lost(name, fleet::monotonic_seconds());
  report_node(name, &TaskMachine::node_lost);
}

void Director::node_busy(const std::string& name, const std::string& reason) {
  note_busy(name, reason);
  report_held(name);
}

void Director::node_idle(const std::string& name) {
  note_idle(name);
  report_held(name);
}

// Maintenance is nobody's work on the fabric: other nodes' tasks need not be kind to it.
void Director::node_paused(const std::string& name, const std::string& /*reason*/) {
  report_held(name);
}

void Director::node_unpaused(const std::string& name) { report_held(name); }

// A node may be paused and busy: tasks wait until it is neither.
void Director::report_held(const std::string& node) {
  const double now = fleet::monotonic_seconds();
  for (const auto& [id, run] : runs_) {
    const std::string why = run->held_text(node);
    run->feed_tasks([&](TaskMachine& task, TaskActions& out) {
      if (why.empty())
        task.node_idle(node, now, out);
      else
        task.node_busy(node, why, now, out);
    });
  }
}

// Feeds a report of an agent to its task. A report for an attempt that is over cancels the runner
// that sent it.
void Director::task_message(const std::string& name, api::AgentMessage message) {
  using Body = api::AgentMessage;
  const double now = fleet::monotonic_seconds();
  const Body::BodyCase kind = message.body_case();
  const api::TaskRef ref = kind == Body::kPrepared  ? message.prepared().task()
                           : kind == Body::kRefusal ? message.refusal().task()
                           : kind == Body::kStep    ? message.step().task()
                                                    : message.ended().task();
  RunDriver* run = run_of(ref, name);
  if (run == nullptr) {
    if (kind == Body::kPrepared || kind == Body::kStep) cancel_strays(name, {ref});
    return;
  }
  run->feed_task(ref.task_id(), [&](TaskMachine& machine, TaskActions& out) {
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
}

// Figures that arrive after the end of their run are reported as new figures.
void Director::records_stored(const std::string& name,
                              const std::vector<fleet::StoredRecords>& stored) {
  for (const fleet::StoredRecords& rank : stored) {
    if (find(rank.task.run_id()) == nullptr && rank.final) on_figures_(rank.task.run_id());
    if (RunDriver* run = run_of(rank.task, name); run != nullptr) run->records_stored(rank);
  }
}

void Director::tick(double now) {
  writes_.retry();
  if (busy_nodes_.expire(now)) report_busy();
  for (const auto& [id, run] : runs_)
    if (queue_.has_begun(id)) run->tick(now);
  clear_loans();
}

void Director::report_busy() {
  for (const auto& [id, run] : runs_)
    if (queue_.has_begun(id)) run->set_busy(busy_nodes_.text());
}

void Director::note_busy(const std::string& node, const std::string& why) {
  if (busy_nodes_.busy(node, why)) report_busy();
}

void Director::note_idle(const std::string& node) {
  if (busy_nodes_.idle(node)) report_busy();
}

// A node that comes back as busy as before it was lost causes no new report.
void Director::note_heard(const std::string& node) {
  const auto known = fleet_.nodes().find(node);
  if (known == fleet_.nodes().end()) return;
  if (const std::string why = fleet::busy_text(known->second); !why.empty())
    note_busy(node, why);
  else
    busy_nodes_.back(node);
}

}  // namespace railgauge::run

#include "controller/run/round_engine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"

namespace railgauge::run {
namespace {

// Allows for rounding in sums of rates, in bits per second.
constexpr double kRoundingBits = 1;

// The node of an endpoint "n1/rxe0:1".
std::string node_part(const std::string& endpoint) {
  return endpoint.substr(0, endpoint.find('/'));
}

}  // namespace

std::vector<std::uint32_t> RoundEngine::Names::operator()(const std::vector<std::string>& texts) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts) numbers.push_back((*this)(text));
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

RoundEngine::RoundEngine(std::shared_ptr<const TaskSource> source, RoundPolicy policy,
                         const LeafUplinks& uplinks)
    : source_(std::move(source)),
      next_index_(source_->tasks()),
      policy_(std::move(policy)),
      uplinks_(uplinks),
      dropped_rounds_(source_->rounds()) {}

RoundEngine::Task RoundEngine::task_of(const RunTaskSpec& spec) {
  Task task{.stage = spec.stage,
            .nodes = spec.nodes,
            .loads_fabric = spec.loads_fabric,
            .load_bits_per_second = spec.load_bits_per_second,
            .expected_seconds = spec.expected_seconds};
  place(task, spec.endpoints, spec.leaves);
  task.limit_seconds = policy_.round_deadline_seconds > 0
                           ? policy_.round_deadline_seconds
                           : spec.deadline_seconds + kDeadlineSlackSeconds;
  return task;
}

std::size_t RoundEngine::add(const RunTaskSpec& spec) { return add_leftover(task_of(spec)); }

std::size_t RoundEngine::add_leftover(Task task) {
  task.state = State::kLeftOver;
  leftovers_.emplace(task.stage, next_index_);
  tasks_.emplace(next_index_, std::move(task));
  return next_index_++;
}

void RoundEngine::place(Task& task, const std::vector<std::string>& endpoints,
                        const std::vector<std::string>& leaves) {
  task.endpoints = endpoint_names_(endpoints);
  leased_.resize(endpoint_names_.size());
  node_of_.resize(endpoint_names_.size());
  for (const std::string& endpoint : endpoints)
    node_of_[endpoint_names_(endpoint)] = node_names_(node_part(endpoint));
  nodes_.resize(node_names_.size());
  const std::vector<std::string> touched = leaves.empty() ? std::vector<std::string>{""} : leaves;
  task.leaves = leaf_names_(touched);
  leaves_.resize(leaf_names_.size());
  for (const std::string& leaf : touched) {
    leaves_[leaf_names_(leaf)].name = leaf;
    if (const auto known = uplinks_.find(leaf); known != uplinks_.end())
      leaves_[leaf_names_(leaf)].uplinks_bits_per_second = known->second;
  }
}

std::size_t RoundEngine::add(std::size_t like, const std::vector<std::string>& endpoints,
                             const std::vector<std::string>& leaves) {
  Task task = task_of(source_->task(like));
  place(task, endpoints, leaves);
  return add_leftover(std::move(task));
}

void RoundEngine::share_uplinks(UplinkLedger& ledger, std::string run_id) {
  ledger_ = &ledger;
  run_id_ = std::move(run_id);
}

bool RoundEngine::is_waiting(std::size_t index) const {
  const auto task = tasks_.find(index);
  return task != tasks_.end() &&
         (task->second.state == State::kWaiting || task->second.state == State::kLeftOver);
}

bool RoundEngine::is_under_way(std::size_t index) const {
  const auto task = tasks_.find(index);
  return task != tasks_.end() &&
         (task->second.state == State::kStarted || task->second.state == State::kGivenUp);
}

std::vector<std::size_t> RoundEngine::under_way() const {
  std::vector<std::size_t> indices;
  for (const auto& [index, task] : tasks_)
    if (is_under_way(index)) indices.push_back(index);
  std::ranges::sort(indices);
  return indices;
}

bool RoundEngine::is_on(const std::string& node) const {
  const auto number = node_names_.find(node);
  return number && nodes_[*number].tasks > 0;
}

std::vector<std::size_t> RoundEngine::under_way_on(const std::vector<std::string>& nodes) const {
  std::vector<char> wanted(nodes_.size());
  for (const std::string& node : nodes)
    if (const auto number = node_names_.find(node)) wanted[*number] = 1;
  std::vector<std::size_t> on;
  for (const std::size_t index : under_way())
    if (std::ranges::any_of(tasks_.at(index).endpoints,
                            [&](std::uint32_t e) { return wanted[node_of_[e]] != 0; }))
      on.push_back(index);
  return on;
}

void RoundEngine::start(double now) {
  RG_CHECK(phase_ == Phase::kPlanned);
  phase_ = Phase::kSettling;
  settle_until_ = now;
}

// A task that waited through one busy period has not waited through the next. Within a period the
// words change as often as agents like.
void RoundEngine::set_busy(std::string who) {
  const bool is_same_period = busy_.empty() == who.empty();
  busy_ = std::move(who);
  if (!is_same_period) held_since_.reset();
}

void RoundEngine::drop(std::size_t index) {
  RG_CHECK(is_waiting(index));
  leftovers_.erase({tasks_.at(index).stage, index});
  tasks_.erase(index);
}

void RoundEngine::drop_waiting(std::optional<std::uint32_t> stage, std::string_view outcome,
                               const std::string& reason, EngineActions& out) {
  std::vector<std::size_t> waiting;
  for (const auto& [index, task] : tasks_)
    if (is_waiting(index) && (!stage || task.stage == *stage)) waiting.push_back(index);
  std::ranges::sort(waiting);
  for (const std::size_t index : waiting) {
    drop(index);
    out.emplace_back(SkipTask{index, std::string(outcome), reason});
  }
  std::map<std::uint32_t, SkipRounds> skipped;  // by stage
  for (std::uint32_t round = next_round_; round < source_->rounds(); ++round) {
    const RoundHead head = source_->head(round);
    if (dropped_rounds_[round] || (stage && head.stage != *stage)) continue;
    dropped_rounds_[round] = true;
    SkipRounds& of_stage = skipped[head.stage];
    of_stage.rounds.push_back(round);
    of_stage.stage = head.stage;
    of_stage.tasks += head.tasks;
  }
  for (auto& [number, of_stage] : skipped) {
    of_stage.outcome = outcome;
    of_stage.reason = reason;
    out.emplace_back(std::move(of_stage));
  }
}

void RoundEngine::lend(const std::vector<std::string>& nodes, const std::string& who, double now) {
  for (const std::string& name : nodes) {
    // The first task of the node may not be made yet.
    const std::uint32_t number = node_names_(name);
    nodes_.resize(node_names_.size());
    if (nodes_[number].lent_since) continue;
    nodes_[number].lent_to = who;
    nodes_[number].lent_since = now;
    ++lent_nodes_;
    was_lent_ = true;
  }
}

void RoundEngine::take_back(const std::vector<std::string>& nodes, double now) {
  for (const std::string& name : nodes) {
    const auto number = node_names_.find(name);
    if (!number || !nodes_[*number].lent_since) continue;
    Node& node = nodes_[*number];
    node.lent_seconds += now - *node.lent_since;
    node.lent_since.reset();
    node.lent_to.clear();
    --lent_nodes_;
  }
}

void RoundEngine::withdraw_claim() {
  if (ledger_ != nullptr) ledger_->set_claim(run_id_, {});
}

// Counts the end for the quorum of the open round.
void RoundEngine::ended(std::size_t index, bool retry, double now) {
  RG_CHECK(is_under_way(index));
  Task& task = tasks_.at(index);
  count(task, false);
  if (task.state == State::kStarted && running_.erase(index) > 0) {
    ++round_ended_;
    if (!quorum_at_ && round_ended_ >= quorum_of_round()) quorum_at_ = now;
  }
  if (!retry) return void(tasks_.erase(index));
  task.state = State::kLeftOver;
  leftovers_.emplace(task.stage, index);
}

// --- tasks that may begin ----------------------------------------------------------------------

// Takes or returns the endpoints and loads of a task.
void RoundEngine::count(const Task& task, bool begins) {
  for (const std::uint32_t endpoint : task.endpoints) {
    RG_CHECK((leased_[endpoint] != 0) != begins);
    leased_[endpoint] = begins ? 1 : 0;
  }
  const std::uint32_t one = begins ? 1U : ~0U;  // adds 1, or takes it away
  for (const std::uint32_t endpoint : task.endpoints) nodes_[node_of_[endpoint]].tasks += one;
  if (ledger_ != nullptr && loads_uplinks(task)) {
    if (begins)
      ledger_->take(run_id_, leaf_texts(task), task.load_bits_per_second);
    else
      ledger_->give_back(run_id_, leaf_texts(task), task.load_bits_per_second);
  }
  under_way_ += one;
  for (const std::uint32_t number : task.leaves) {
    Leaf& leaf = leaves_[number];
    leaf.tasks += one;
    if (!task.loads_fabric) continue;
    leaf.loading += one;
    if (task.leaves.size() > 1)
      leaf.leaving_bits_per_second += (begins ? 1 : -1) * task.load_bits_per_second;
  }
}

// Reports whether the task keeps to the limits of kindness while production work is on the fabric.
// A leaf whose uplinks are unknown gets no load across leaves.
bool RoundEngine::is_kind(const Task& task) const {
  const Kindness& kindness = policy_.kindness;
  if (busy_.empty() || kindness.exclusive) return true;
  if (task.nodes > kindness.max_collective_nodes) return false;
  if (!task.loads_fabric) return true;
  return std::ranges::all_of(task.leaves, [&](std::uint32_t number) {
    const Leaf& leaf = leaves_[number];
    if (leaf.loading >= kindness.bandwidth_tasks_per_leaf) return false;
    if (task.leaves.size() < 2) return true;
    const double allowed = kindness.cross_leaf_share * leaf.uplinks_bits_per_second.value_or(0);
    const double leaving =
        ledger_ == nullptr ? leaf.leaving_bits_per_second : ledger_->load_of(leaf.name);
    return leaving + task.load_bits_per_second <= allowed + kRoundingBits &&
           leaf.uplinks_bits_per_second.has_value();
  });
}

bool RoundEngine::loads_uplinks(const Task& task) const {
  return task.loads_fabric && task.leaves.size() > 1;
}

std::vector<std::string> RoundEngine::leaf_texts(const Task& task) const {
  std::vector<std::string> texts;
  texts.reserve(task.leaves.size());
  for (const std::uint32_t leaf : task.leaves) texts.push_back(leaves_[leaf].name);
  return texts;
}

bool RoundEngine::may_load_uplinks(const Task& task) const {
  return ledger_ == nullptr || !loads_uplinks(task) || ledger_->is_alone(run_id_) ||
         ledger_->allows(run_id_, leaf_texts(task), task.load_bits_per_second);
}

bool RoundEngine::is_lent(const Task& task) const {
  return lent_nodes_ > 0 && std::ranges::any_of(task.endpoints, [this](std::uint32_t endpoint) {
           return nodes_[node_of_[endpoint]].lent_since.has_value();
         });
}

// The longest time that a node of the task was away.
double RoundEngine::seconds_lent(const Task& task, double now) const {
  double longest = 0;
  for (const std::uint32_t endpoint : task.endpoints) {
    const Node& node = nodes_[node_of_[endpoint]];
    longest = std::max(longest, node.lent_seconds + now - node.lent_since.value_or(now));
  }
  return longest;
}

RoundEngine::Hold RoundEngine::hold_of(const Task& task) const {
  if (std::ranges::any_of(task.endpoints, [this](std::uint32_t e) { return leased_[e] != 0; }))
    return Hold::kLease;
  if (is_lent(task)) return Hold::kLent;
  const std::uint32_t per_leaf = policy_.max_tasks_per_leaf;
  if ((policy_.max_tasks > 0 && under_way_ >= policy_.max_tasks) ||
      (per_leaf > 0 && std::ranges::any_of(task.leaves, [&](std::uint32_t leaf) {
         return leaves_[leaf].tasks >= per_leaf;
       })))
    return Hold::kCap;
  if (!is_kind(task)) return Hold::kKindness;
  return may_load_uplinks(task) ? Hold::kNone : Hold::kUplinks;
}

std::string RoundEngine::why_unkind(const Task& task) const {
  const Kindness& kindness = policy_.kindness;
  if (task.nodes > kindness.max_collective_nodes)
    return fmt::format("{}: a task over {} nodes is not started beside production, {} are allowed",
                       busy_, task.nodes, kindness.max_collective_nodes);
  return fmt::format(
      "{}: the load between leaves would be above {:g} % of a leaf's uplinks, or "
      "these are not known",
      busy_, kindness.cross_leaf_share * 100);
}

// `away`: the time that does not count.
bool RoundEngine::budget_is_over(std::uint32_t stage, double away, double now) const {
  if (stage >= policy_.stage_budget_seconds.size()) return false;
  const double budget = policy_.stage_budget_seconds[stage];
  const auto started = stage_started_at_.find(stage);
  return budget > 0 && started != stage_started_at_.end() && now >= started->second + budget + away;
}

bool RoundEngine::budget_is_spent(const Task& task, double now) const {
  return budget_is_over(task.stage, was_lent_ ? seconds_lent(task, now) : 0, now);
}

std::string RoundEngine::spent_words(std::uint32_t stage) const {
  return fmt::format("not started: the stage's time budget of {:.0f} s was spent",
                     policy_.stage_budget_seconds[stage]);
}

// True if the task waits no longer: it was started or skipped, or is over.
bool RoundEngine::launch(std::size_t index, double now, EngineActions& out) {
  if (!is_waiting(index)) return true;
  Task& task = tasks_.at(index);
  if (budget_is_spent(task, now)) {
    out.emplace_back(SkipTask{index, std::string(kWaived), spent_words(task.stage)});
    drop(index);
    return true;
  }
  const Hold hold = hold_of(task);
  if (hold == Hold::kUplinks)
    for (const std::string& leaf : leaf_texts(task))
      refused_.try_emplace(leaf, task.load_bits_per_second);
  if (hold != Hold::kNone) return false;
  count(task, true);
  leftovers_.erase({task.stage, index});
  stage_started_at_.emplace(task.stage, now);
  task.state = State::kStarted;
  task.started_at = now;
  if (phase_ == Phase::kRound) running_.insert(index);
  out.emplace_back(StartTask{index});
  return true;
}

// --- rounds ------------------------------------------------------------------------------------

// Opens the next round that has tasks to start; after the last round, the leftovers.
void RoundEngine::open_next(double now, EngineActions& out) {
  phase_ = Phase::kLeftovers;
  while (next_round_ < source_->rounds()) {
    if (skipped_ >= kMostSkippedAtOnce) {
      phase_ = Phase::kSettling;  // the next poll continues
      return;
    }
    const std::uint32_t round = next_round_++;
    if (dropped_rounds_[round]) continue;
    const RoundHead head = source_->head(round);
    if (!was_lent_ && budget_is_over(head.stage, 0, now)) {
      out.emplace_back(SkipRounds{
          {round}, head.stage, head.tasks, std::string(kWaived), spent_words(head.stage)});
      continue;
    }
    open(round, out);
    if (pending_.empty()) continue;
    phase_ = Phase::kRound;
    round_size_ = pending_.size();
    round_ended_ = 0;
    round_started_at_ = now;
    quorum_at_.reset();
    return;
  }
}

// Makes the tasks of the round. Those that the planner waived end at once.
void RoundEngine::open(std::uint32_t round, EngineActions& out) {
  const auto made = std::make_shared<const std::vector<IndexedTask>>(source_->tasks_of(round));
  out.emplace_back(OpenRound{round, made});
  pending_.clear();
  for (const auto& [index, spec] : *made) {
    if (spec.waived) {
      out.emplace_back(SkipTask{index, std::string(kWaived), spec.reason});
      ++skipped_;
      continue;
    }
    tasks_.emplace(index, task_of(spec));
    pending_.push_back(index);
  }
}

// Moves the tasks that never began to the leftovers.
void RoundEngine::close_round(double now) {
  for (const std::size_t index : pending_) {
    const auto task = tasks_.find(index);
    if (task == tasks_.end() || task->second.state != State::kWaiting) continue;
    task->second.state = State::kLeftOver;
    leftovers_.emplace(task->second.stage, index);
  }
  pending_.clear();
  const bool more = next_round_ < source_->rounds() || !leftovers_.empty();
  settle_until_ = round_ended_ > 0 && more ? now + policy_.settle_seconds : now;
  phase_ = Phase::kSettling;
}

// The number of ends that make the other tasks stragglers. In a small round the quorum is all but
// one task, so that one hung pair never holds the others. A quorum of 1 means all tasks.
std::size_t RoundEngine::quorum_of_round() const {
  const auto wanted =
      static_cast<std::size_t>(std::ceil(policy_.quorum * static_cast<double>(round_size_) - 1e-9));
  return policy_.quorum < 1 && wanted == round_size_ && round_size_ > 1 ? round_size_ - 1 : wanted;
}

void RoundEngine::give_up(std::size_t index, std::string reason, EngineActions& out) {
  tasks_.at(index).state = State::kGivenUp;
  running_.erase(index);
  ++round_ended_;
  out.emplace_back(GiveUpTask{index, std::move(reason)});
}

// A straggler is a task that runs longer than its own limit, or longer than the quorum of its round
// plus slack. A task that began late, or that was expected to take longer, is none.
void RoundEngine::give_up_late_ones(double now, EngineActions& out) {
  const std::vector<std::size_t> running(running_.begin(), running_.end());
  const double slack = quorum_at_
                           ? std::max(policy_.straggler_slack_seconds,
                                      policy_.straggler_factor * (*quorum_at_ - round_started_at_))
                           : 0;
  for (const std::size_t index : running) {
    const Task& task = tasks_.at(index);
    // A task that began late, behind a cap, or that was expected to take longer, is no straggler
    // yet.
    const bool quorum_over =
        quorum_at_ && now >= std::max(*quorum_at_, task.started_at) + slack &&
        now >= task.started_at + task.expected_seconds + policy_.straggler_slack_seconds;
    if (now >= task.started_at + task.limit_seconds)
      give_up(index,
              fmt::format("still under way {:.0f} s after its start, when its round closed",
                          now - task.started_at),
              out);
    else if (quorum_over)
      give_up(
          index,
          fmt::format("still under way {:.0f} s after {} of the {} tasks of its round had ended",
                      now - *quorum_at_, quorum_of_round(), round_size_),
          out);
  }
}

// Starts every pending task that may begin.
void RoundEngine::launch_pending(double now, EngineActions& out) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const bool full = policy_.max_tasks > 0 && under_way_ >= policy_.max_tasks;
    if (full && policy_.stage_budget_seconds.empty()) {  // no need to look at thousands
      for (; i < pending_.size(); ++i) pending_[kept++] = pending_[i];
      break;
    }
    if (!launch(pending_[i], now, out)) pending_[kept++] = pending_[i];
  }
  pending_.resize(kept);
}

bool RoundEngine::is_over(double now, EngineActions& out) {
  launch_pending(now, out);
  give_up_late_ones(now, out);
  if (!running_.empty()) return false;
  // A task that waits for a cap gets its turn: tasks of earlier rounds end within a bound. So do
  // those of other runs on the uplinks, where claims have an order. A task that waits for an
  // endpoint, a node or the fabric is left over.
  held_by_.clear();
  return std::ranges::none_of(pending_, [this](std::size_t index) {
    const auto task = tasks_.find(index);
    if (task == tasks_.end() || task->second.state != State::kWaiting) return false;
    const Hold hold = hold_of(task->second);
    return hold == Hold::kCap || hold == Hold::kUplinks;
  });
}

void RoundEngine::poll(double now, EngineActions& out) {
  refused_.clear();
  skipped_ = 0;
  poll_phase(now, out);
  if (ledger_ != nullptr) ledger_->set_claim(run_id_, std::exchange(refused_, {}));
}

void RoundEngine::poll_phase(double now, EngineActions& out) {
  while (phase_ == Phase::kRound || phase_ == Phase::kSettling) {
    if (phase_ == Phase::kSettling) {
      if (now < settle_until_ || skipped_ >= kMostSkippedAtOnce) return;
      open_next(now, out);
    } else {
      if (!is_over(now, out)) return;
      close_round(now);
    }
  }
  if (phase_ == Phase::kLeftovers) work_off_leftovers(now, out);
}

// --- leftovers ---------------------------------------------------------------------------------

// Starts leftovers of one stage at a time. True if any was started or skipped.
bool RoundEngine::launch_leftovers(double now, EngineActions& out) {
  bool any = false;
  const auto waiting = std::vector(leftovers_.begin(), leftovers_.end());
  for (const auto& [stage, index] : waiting) {
    if (under_way_ > 0 && stage != leftover_stage_) continue;
    const std::size_t said = out.size();
    if (!launch(index, now, out)) continue;
    any = true;
    if (out.size() > said && std::holds_alternative<StartTask>(out.back())) leftover_stage_ = stage;
  }
  return any;
}

void RoundEngine::work_off_leftovers(double now, EngineActions& out) {
  held_by_.clear();
  if (leftovers_.empty()) return;
  // Whatever an earlier round has left under way is of another stage, or being ended.
  if (launch_leftovers(now, out)) held_since_.reset();
  if (leftovers_.empty() || under_way_ > 0) return;
  // Nothing of ours is under way. Lent nodes come back, and other runs leave the uplinks, so
  // kindness alone is given up on.
  std::vector<std::size_t> unkind;
  for (const auto& [stage, index] : leftovers_)
    if (hold_of(tasks_.at(index)) == Hold::kKindness) unkind.push_back(index);
  held_by_ = unkind.empty() ? who_holds() : busy_;
  if (unkind.empty()) return held_since_.reset();
  if (!held_since_) held_since_ = now;
  if (now < *held_since_ + policy_.kindness.wait_seconds) return;
  for (const std::size_t index : unkind) {
    out.emplace_back(SkipTask{index, std::string(kWaived), why_unkind(tasks_.at(index))});
    drop(index);
  }
}

// The run that has lent nodes, or the uplinks that others load.
std::string RoundEngine::who_holds() const {
  const auto lent =
      std::ranges::find_if(nodes_, [](const Node& node) { return node.lent_since.has_value(); });
  if (lent != nodes_.end()) return fmt::format("its nodes are lent to {}", lent->lent_to);
  return refused_.empty()
             ? ""
             : fmt::format("other runs load the uplinks of leaf {}", refused_.begin()->first);
}

}  // namespace railgauge::run

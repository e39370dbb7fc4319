#include "controller/run/task_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"

namespace railgauge::run {
namespace {

constexpr std::size_t kMostPlaceBytes = 64;  // of a rank's place; one line has room for several

}  // namespace

TaskMachine::TaskMachine(TaskSpec spec)
    : spec_(std::move(spec)),
      ranks_(spec_.ranks.size()),
      attempt_(spec_.attempts_before),
      yield_(spec_.forced) {
  RG_CHECK(!ranks_.empty());
}

TaskMachine::Rank* TaskMachine::live_rank(std::uint32_t attempt, std::uint32_t rank) {
  const bool active = state_ != TaskState::kWaiting && state_ != TaskState::kEnded;
  return active && attempt == attempt_ && rank < ranks_.size() ? &ranks_[rank] : nullptr;
}

bool TaskMachine::attached(std::uint32_t rank) const {
  const auto found = nodes_.find(spec_.ranks[rank].node);
  return found != nodes_.end() && found->second.state == Presence::State::kAttached;
}

bool TaskMachine::alive(const Rank& rank) const {
  return rank.phase == Phase::kPreparing || rank.phase == Phase::kPrepared ||
         rank.phase == Phase::kRunning;
}

std::string TaskMachine::who(std::uint32_t rank) const {
  return fmt::format("rank {} on {}", rank, spec_.ranks[rank].node);
}

void TaskMachine::start(const std::map<std::string, Presence>& presence, double now,
                        TaskActions& out) {
  RG_CHECK(!started_);
  started_ = true;
  for (const RankSpec& rank : spec_.ranks) {
    const auto found = presence.find(rank.node);
    nodes_[rank.node] = found == presence.end() ? Presence{} : found->second;
  }
  wait_until_ = now + kMaxWaitSeconds;
  try_begin(now, out);
}

// Begins an attempt when every node is attached and idle. Ends the task when a node stayed lost, or
// when the wait is over.
void TaskMachine::try_begin(double now, TaskActions& out) {
  if (!started_ || state_ != TaskState::kWaiting) return;
  bool all_attached = true;
  for (const auto& [node, presence] : nodes_) {
    all_attached = all_attached && presence.state == Presence::State::kAttached;
    const bool gone =
        presence.state == Presence::State::kLost && now >= presence.since_seconds + kReturnSeconds;
    if (gone && attempt_ == spec_.attempts_before)
      last_ = {std::string(kCrashed), fmt::format("node {} lost", node)};
    if (gone) return finish(last_.outcome, last_.reason, out);
  }
  if (yield_.blocks()) return wait_for_idle(now, out);
  if (all_attached) return begin_attempt(now, out);
  if (now < wait_until_) return;
  if (attempt_ == spec_.attempts_before)
    last_ = {std::string(kCrashed),
             fmt::format("its nodes were not attached together within {:.0f} s", kMaxWaitSeconds)};
  finish(last_.outcome, last_.reason, out);
}

void TaskMachine::begin_attempt(double now, TaskActions& out) {
  ++attempt_;
  std::ranges::fill(ranks_, Rank{.phase = Phase::kPreparing});
  step_ = 0;
  last_answers_.reset();
  causes_.clear();
  lost_ = false;
  yielded_ = false;
  store_by_.reset();
  cancel_outcome_.clear();
  cancel_reason_.clear();
  end_by_ = now + spec_.deadline_seconds + kDeadlineGraceSeconds;
  state_ = TaskState::kPreparing;
  out.emplace_back(AttemptStarted{attempt_});
  for (std::uint32_t rank = 0; rank < size(); ++rank) out.emplace_back(SendPrepare{rank});
}

void TaskMachine::prepared(std::uint32_t attempt, std::uint32_t rank, double, TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr || r->phase != Phase::kPreparing) return;
  r->phase = Phase::kPrepared;
  go_when_prepared(out);
}

// Sends Go to every rank once all are prepared. A detached node gets it when it is back.
void TaskMachine::go_when_prepared(TaskActions& out) {
  if (state_ != TaskState::kPreparing) return;
  if (!std::ranges::all_of(ranks_, [](const Rank& r) { return r.phase == Phase::kPrepared; }))
    return;
  state_ = TaskState::kRunning;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    ranks_[rank].phase = Phase::kRunning;
    if (attached(rank)) out.emplace_back(SendGo{rank});  // else when its node is back
  }
}

void TaskMachine::add_cause(std::string_view outcome, std::string reason) {
  causes_.push_back({std::string(outcome), std::move(reason)});
}

// Ends the attempt for a cause of its own.
void TaskMachine::stop(std::string_view outcome, const std::string& reason, double now,
                       TaskActions& out) {
  add_cause(outcome, reason);
  cancel_rest(outcome, reason, now, out);
}

void TaskMachine::refused(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
                          std::string reason, double now, TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr || !alive(*r)) return;
  const std::string_view known = known_outcome(outcome);
  r->final_stored = true;  // a refusal leaves no records to wait for
  end_rank(rank, known == kPassed ? kCrashed : known, std::move(reason), now, out);
}

void TaskMachine::ended(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
                        std::string reason, double now, TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr || !alive(*r)) return;
  r->owes_final = true;
  std::string_view known = known_outcome(outcome);
  if (known == kPassed && r->phase != Phase::kRunning) {
    known = kCrashed;
    reason = "ended before its start signal";
  }
  end_rank(rank, known, std::move(reason), now, out);
}

void TaskMachine::end_rank(std::uint32_t rank, std::string_view outcome, std::string reason,
                           double now, TaskActions& out) {
  Rank& r = ranks_[rank];
  r.phase = Phase::kEnded;
  r.resume_by.reset();
  // An end that repeats the cancel adds no cause. Wrong data always does.
  const bool echo = r.told_cancel && outcome != kFailed &&
                    (outcome == cancel_outcome_ || outcome == kCancelledOutcome || cancelled_ ||
                     interrupted_ || yielded_ || reason.find(cancel_reason_) != std::string::npos);
  if (outcome != kPassed && !echo) {
    // A rank that crashed or hung could not report its place itself.
    const bool dumb = outcome == kCrashed || outcome == kTimedOut;
    const bool told = reason.find(r.place) != std::string::npos;
    std::string line = who(rank) + (dumb && !told ? last_place(rank) : "");
    line += reason.empty() ? fmt::format(" {}", outcome) : fmt::format(": {}", reason);
    if (outcome == kTimedOut) line += missing();
    add_cause(outcome, line);
    cancel_rest(bystander_outcome(outcome), line, now, out);
  }
  settle(now, out);
}

// Ends the attempt for the ranks that are still alive. The first cause decides outcome and reason.
void TaskMachine::cancel_rest(std::string_view outcome, const std::string& reason, double now,
                              TaskActions& out) {
  if (state_ != TaskState::kEnding) {
    state_ = TaskState::kEnding;
    end_by_ = now + kEndSeconds;
    cancel_outcome_ = outcome;
    cancel_reason_ = reason;
  }
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    Rank& r = ranks_[rank];
    if (!alive(r) || r.told_cancel) continue;
    r.told_cancel = true;
    if (attached(rank)) out.emplace_back(SendCancel{rank, cancel_outcome_, cancel_reason_});
  }
}

void TaskMachine::stored(std::uint32_t attempt, std::uint32_t rank, std::uint32_t points,
                         std::optional<RankEnd> final, double now, TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr) return;
  r->points += points;
  if (final) {
    r->final_stored = true;
    if (!r->final) r->final = std::move(final);  // the first one stays, as in the store
    if (alive(*r) && r->resume_by)
      return ended(attempt, rank, r->final->outcome, r->final->reason, now, out);
  }
  settle(now, out);
}

// The rank's runner is gone with its node.
void TaskMachine::lose_rank(std::uint32_t rank, std::string reason, double now, TaskActions& out) {
  Rank& r = ranks_[rank];
  if (!alive(r)) return;
  r.phase = Phase::kLost;
  lost_ = true;
  const bool known =
      std::ranges::any_of(causes_, [&](const RankEnd& c) { return c.reason == reason; });
  if (!known) add_cause(kCrashed, reason);
  cancel_rest(kCrashed, reason, now, out);
}

void TaskMachine::node_detached(const std::string& node, double now, TaskActions&) {
  if (const auto found = nodes_.find(node); found != nodes_.end())
    found->second = {Presence::State::kDetached, now};
}

void TaskMachine::node_lost(const std::string& node, double now, TaskActions& out) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second = {Presence::State::kLost, now};
  if (state_ == TaskState::kWaiting || state_ == TaskState::kEnded) return try_begin(now, out);
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (spec_.ranks[rank].node == node) {
      ranks_[rank].final_stored = true;  // its records arrive, if at all, with the node
      lose_rank(rank, fmt::format("node {} lost", node), now, out);
    }
  settle(now, out);
}

void TaskMachine::node_attached(const std::string& node, double now, TaskActions& out) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  // A newly attached agent has no runner of this task.
  if (found->second.state != Presence::State::kLost) node_lost(node, now, out);
  found->second = {Presence::State::kAttached, now};
  try_begin(now, out);
}

void TaskMachine::node_resumed(const std::string& node, const std::vector<std::uint32_t>& running,
                               double now, TaskActions& out) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  if (found->second.state == Presence::State::kLost) return node_attached(node, now, out);
  found->second = {Presence::State::kAttached, now};
  if (state_ == TaskState::kWaiting) return try_begin(now, out);
  if (state_ == TaskState::kEnded) return;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    Rank& r = ranks_[rank];
    if (spec_.ranks[rank].node != node || !alive(r)) continue;
    // Without a runner, its end, a refusal or a record is still on the way, or Prepare never
    // arrived.
    const bool has_runner = std::ranges::find(running, rank) != running.end();
    r.resume_by = has_runner ? std::nullopt : std::optional(now + kResumeSeconds);
    if (!has_runner && r.final)
      ended(attempt_, rank, r.final->outcome, r.final->reason, now, out);
    else if (r.told_cancel)
      out.emplace_back(SendCancel{rank, cancel_outcome_, cancel_reason_});
    else if (r.phase == Phase::kRunning && has_runner)
      out.emplace_back(SendGo{rank});
  }
}

void TaskMachine::cancel(std::string reason, double now, TaskActions& out) {
  if (state_ == TaskState::kEnded || cancelled_) return;
  cancelled_ = true;
  if (state_ == TaskState::kWaiting)
    return finish(std::string(kCancelledOutcome), std::move(reason), out);
  stop(kCancelledOutcome, reason, now, out);
  settle(now, out);
}

void TaskMachine::give_up(std::string reason, double now, TaskActions& out) {
  if (state_ == TaskState::kEnded || given_up_ || cancelled_) return;
  given_up_ = true;
  if (state_ == TaskState::kWaiting) {
    if (attempt_ == spec_.attempts_before) last_ = {std::string(kTimedOut), std::move(reason)};
    return finish(last_.outcome, last_.reason, out);
  }
  if (state_ == TaskState::kEnding) return;  // it has a cause of its own
  stop(kTimedOut, reason, now, out);
  settle(now, out);
}

void TaskMachine::interrupt(std::string reason, double now, TaskActions& out) {
  if (state_ == TaskState::kEnded || interrupted_ || given_up_ || cancelled_) return;
  interrupted_ = true;
  if (state_ == TaskState::kWaiting)
    return finish(std::string(kCancelledOutcome), std::move(reason), out);
  if (state_ == TaskState::kEnding) return;  // it has a cause of its own
  stop(kCancelledOutcome, reason, now, out);
  settle(now, out);
}

// Loses ranks whose node came back without them and did not deliver their end in time.
void TaskMachine::give_up_on_silent_ranks(double now, TaskActions& out) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    Rank& r = ranks_[rank];
    if (!alive(r) || !r.resume_by || now < *r.resume_by) continue;
    r.final_stored = true;
    lose_rank(
        rank,
        fmt::format("node {} lost its connection and the task with it", spec_.ranks[rank].node),
        now, out);
  }
}

void TaskMachine::tick(double now, TaskActions& out) {
  if (state_ == TaskState::kWaiting) return try_begin(now, out);
  if (state_ == TaskState::kEnded) return;
  give_up_on_silent_ranks(now, out);
  if (store_by_) return settle(now, out);
  if (now >= end_by_ && state_ != TaskState::kEnding) {
    stop(kTimedOut,
         fmt::format("no end within its deadline of {:.0f} s and {:.0f} s grace",
                     spec_.deadline_seconds, kDeadlineGraceSeconds),
         now, out);
  } else if (now >= end_by_) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      if (!alive(ranks_[rank])) continue;
      ranks_[rank].phase = Phase::kEnded;
      ranks_[rank].final_stored = true;
      unverified_ = true;
      add_cause(kCrashed, fmt::format("{} did not report an end within {:.0f} s of the request",
                                      who(rank), kEndSeconds));
    }
  }
  settle(now, out);
}

std::optional<double> TaskMachine::next_tick() const {
  if (state_ == TaskState::kEnded || !started_) return std::nullopt;
  if (state_ == TaskState::kWaiting) {
    double next = wait_until_;
    for (const auto& [node, presence] : nodes_)
      if (presence.state == Presence::State::kLost)
        next = std::min(next, presence.since_seconds + kReturnSeconds);
    return yield_.blocks() ? std::min(next, yield_.until().value_or(next)) : next;
  }
  double next = store_by_.value_or(end_by_);
  for (const Rank& r : ranks_)
    if (r.resume_by) next = std::min(next, *r.resume_by);
  return next;
}

// Ends the attempt when no rank is alive and every final record is stored or overdue.
void TaskMachine::settle(double now, TaskActions& out) {
  if (state_ == TaskState::kWaiting || state_ == TaskState::kEnded) return;
  if (std::ranges::any_of(ranks_, [this](const Rank& r) { return alive(r); })) return;
  if (!store_by_) store_by_ = now + kStoreSeconds;
  const bool all_stored =
      std::ranges::all_of(ranks_, [](const Rank& r) { return r.final_stored || !r.owes_final; });
  if (all_stored || now >= *store_by_) finish_attempt(now, out);
}

// The outcome of the attempt. Without a value from any rank the attempt crashed, even if all ranks
// passed.
RankEnd TaskMachine::combined() const {
  // The runner of a lost node may still be there, so the task is not "cancelled".
  if (cancelled_ && !unverified_ && !lost_) {
    const auto told = std::ranges::find(causes_, kCancelledOutcome, &RankEnd::outcome);
    return {std::string(kCancelledOutcome), told == causes_.end() ? cancel_reason_ : told->reason};
  }
  if (!causes_.empty()) return worst_of(causes_);
  std::uint32_t points = 0;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    points += ranks_[rank].points;
    if (ranks_[rank].final_stored) continue;
    return {std::string(kCrashed),
            fmt::format("{}: its records did not arrive within {:.0f} s of its end", who(rank),
                        kStoreSeconds)};
  }
  if (points == 0) return {std::string(kCrashed), "no rank reported a value"};
  return {std::string(kPassed), ""};
}

// Requeues the task after a lost node within max_attempts, or after a yield.
void TaskMachine::finish_attempt(double now, TaskActions& out) {
  last_ = combined();
  const bool may_stay = !given_up_ && !interrupted_;
  const bool again = lost_ && !cancelled_ && !unverified_ && may_stay &&
                     last_.outcome == kCrashed && attempt_ - attempts_yielded_ < spec_.max_attempts;
  const bool requeue = again || (may_stay && retries_after_yield(now));
  out.emplace_back(AttemptEnded{attempt_, last_.outcome, last_.reason, requeue});
  if (!requeue) return finish(last_.outcome, last_.reason, out);
  state_ = TaskState::kWaiting;
  wait_until_ = now + kMaxWaitSeconds;
  try_begin(now, out);
}

void TaskMachine::finish(std::string outcome, std::string reason, TaskActions& out) {
  state_ = TaskState::kEnded;
  const bool hung_or_lost =
      outcome == kTimedOut || (outcome == kCrashed && (lost_ || attempt_ == spec_.attempts_before));
  const bool may_retry =
      hung_or_lost && !cancelled_ && !unverified_ && attempt_ < spec_.max_attempts;
  const bool interrupted =
      interrupted_ && outcome == kCancelledOutcome && !cancelled_ && !unverified_;
  out.emplace_back(
      TaskFinished{std::move(outcome), std::move(reason), may_retry, unverified_, interrupted});
}

void TaskMachine::node_busy(const std::string& node, std::string reason, double now,
                            TaskActions& out) {
  if (std::ranges::find(spec_.ranks, node, &RankSpec::node) == spec_.ranks.end()) return;
  yield_.busy(node, std::move(reason));
  if (!yield_.blocks() || state_ == TaskState::kEnded || !started_) return;
  yield_.begin(now);
  if (state_ == TaskState::kWaiting || state_ == TaskState::kEnding) return;
  yielded_ = true;
  stop(kCancelledOutcome, yield_.reason(), now, out);
  settle(now, out);
}

void TaskMachine::node_idle(const std::string& node, double now, TaskActions& out) {
  yield_.idle(node);
  try_begin(now, out);
}

// Called before an attempt. The wait for attached nodes begins again once they are idle.
void TaskMachine::wait_for_idle(double now, TaskActions& out) {
  yield_.begin(now);
  wait_until_ = now + kMaxWaitSeconds;
  if (yield_.over(now)) finish(std::string(kCancelledOutcome), yield_.end_reason(), out);
}

// Reports whether the attempt that just ended yielded, so that its task waits for another attempt.
bool TaskMachine::retries_after_yield(double now) {
  const bool again = yielded_ && !cancelled_ && !unverified_ &&
                     last_.outcome == kCancelledOutcome && !yield_.over(now);
  if (again) ++attempts_yielded_;
  return again;
}

// Rendezvous: collects one step of every rank and answers all of them. A step that is ahead, or too
// large, ends the attempt. A repeated step gets the last answer again, because the stream lost it.
void TaskMachine::step(std::uint32_t attempt, std::uint32_t rank, GroupStep said, double now,
                       TaskActions& out) {
  Rank* r = live_rank(attempt, rank);
  if (r == nullptr || !alive(*r) || state_ == TaskState::kEnding) return;
  const std::size_t bytes = said.payloads().empty() ? 0 : said.payloads(0).size();
  if (state_ != TaskState::kRunning || said.step() > step_ || bytes > Group::kMaxPayload)
    return stop(
        kCrashed,
        fmt::format("{} sent rendezvous step {} of {} bytes where step {} of at most {} was due",
                    who(rank), said.step(), bytes, step_, Group::kMaxPayload),
        now, out);
  if (said.step() + 1 == step_) {  // the answer was lost with a stream
    if (attached(rank)) out.emplace_back(SendStep{rank, last_answers_, said.brief()});
    return;
  }
  if (said.step() < step_) return;
  r->place = said.at().substr(0, kMostPlaceBytes);
  r->said = std::move(said);
  complete_step(now, out);
}

// Answers when every rank has sent the step.
void TaskMachine::complete_step(double now, TaskActions& out) {
  if (!std::ranges::all_of(ranks_, [](const Rank& r) { return r.said.has_value(); })) return;
  std::vector<GroupStep> said;
  std::vector<bool> brief;
  for (Rank& r : ranks_) {
    brief.push_back(r.said->brief());
    said.push_back(std::move(*r.said));
    r.said.reset();
  }
  const auto answers = std::make_shared<StepAnswers>(answers_of(step_, std::move(said)));
  const std::size_t bytes = answers->full.ByteSizeLong();
  if (bytes > kMostAnswerBytes && std::ranges::find(brief, false) != brief.end())
    return stop(kCrashed,
                fmt::format("the payloads of {} ranks for rendezvous step {} are {} bytes "
                            "together, of which at most {} can be handed round",
                            size(), step_, bytes, kMostAnswerBytes),
                now, out);
  last_answers_ = answers;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (attached(rank) && alive(ranks_[rank]))
      out.emplace_back(SendStep{rank, last_answers_, brief[rank]});
  ++step_;
}

// Names the ranks that have not reached the step that others reached: "; rank 2 on n7 (last at:
// sampling 8 B) has not come to rendezvous step 5". A rank that waits does not know which one is
// late.
std::string TaskMachine::missing() const {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (!ranks_[rank].said) names.push_back(who(rank) + last_place(rank));
  if (state_ != TaskState::kRunning || names.empty() || names.size() == size()) return "";
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return fmt::format("; {}{} {} not come to rendezvous step {}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     names.size() + more == 1 ? "has" : "have", step_);
}

// " (last at: sampling 8 B)"; "" if the rank reported no place.
std::string TaskMachine::last_place(std::uint32_t rank) const {
  const std::string& place = ranks_[rank].place;
  return place.empty() ? "" : fmt::format(" (last at: {})", place);
}

}  // namespace railgauge::run

#include "controller/run/run_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge::run {
namespace {

// Nodes of runs in the queue are sorted: runs may have thousands.
bool share_a_node(const QueuedRun& one, const QueuedRun& other) {
  auto left = one.nodes.begin();
  auto right = other.nodes.begin();
  while (left != one.nodes.end() && right != other.nodes.end()) {
    const int order = left->compare(*right);
    if (order == 0) return true;
    if (order < 0)
      ++left;
    else
      ++right;
  }
  return false;
}

// Collects the nodes of each cause. They come sorted.
class Causes {
 public:
  void add(RunWait::Kind kind, const std::string& run_id, const std::string& node) {
    nodes_[{kind, run_id}].push_back(node);
  }
  [[nodiscard]] std::vector<RunWait> waits() const {
    std::vector<RunWait> waits;
    for (const auto& [cause, nodes] : nodes_)
      waits.push_back({.kind = cause.first, .run_id = cause.second, .nodes = nodes});
    return waits;
  }

 private:
  std::map<std::pair<RunWait::Kind, std::string>, std::vector<std::string>> nodes_;
};

}  // namespace

// The words are labels of a metric and of `runs`: they never change.
std::string_view text_of(Priority priority) {
  switch (priority) {
    case Priority::kGate:
      return "gate";
    case Priority::kCli:
      return "cli";
    case Priority::kSchedule:
      break;
  }
  return "schedule";
}

// A trigger that is not known is a person's: between the two others, it harms least.
Priority priority_of(std::string_view trigger) {
  if (trigger == "upgrade") return Priority::kGate;
  return trigger == "schedule" ? Priority::kSchedule : Priority::kCli;
}

// A run that is added may begin at once, or bar others from its nodes.
void RunQueue::add(QueuedRun run, QueueActions& out) {
  const std::string id = run.run_id;
  std::ranges::sort(run.nodes);
  Entry entry{.arrival = arrivals_++, .turn = next_turn(run)};
  entry.run = std::move(run);
  RG_CHECK(runs_.emplace(id, std::move(entry)).second);
  decide(out);
}

// A requester's runs take one turn each; the first one takes the turn that is on.
std::uint64_t RunQueue::next_turn(const QueuedRun& run) {
  Turns& turns = turns_[run.priority];
  const auto [last, is_first] = turns.last.try_emplace(run.requester, turns.now);
  if (!is_first) last->second = std::max(turns.now, last->second + 1);
  return last->second;
}

// Without this, names of people who asked once would be kept for ever.
void RunQueue::forget_requester(const QueuedRun& gone) {
  const bool has_more = std::ranges::any_of(runs_, [&](const auto& one) {
    return one.second.run.priority == gone.priority && one.second.run.requester == gone.requester;
  });
  if (!has_more) turns_[gone.priority].last.erase(gone.requester);
}

// Its leases end before the others are asked: one of them may begin with these nodes.
void RunQueue::remove(const std::string& run_id, QueueActions& out) {
  const auto found = runs_.find(run_id);
  if (found == runs_.end()) return;
  const QueuedRun gone = std::move(found->second.run);
  runs_.erase(found);
  forget_requester(gone);
  give_back(run_id, out);
  decide(out);
}

// Ends all leases of a run that is gone. A node that it has lent belongs to the borrower.
void RunQueue::give_back(const std::string& run_id, QueueActions& out) {
  std::map<std::string, std::vector<std::string>> returned;  // by owner
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    Lease& one = lease->second;
    const bool is_owner = one.owner == run_id;
    if (is_owner && one.borrower.empty()) {
      lease = leases_.erase(lease);
      continue;
    }
    if (is_owner) one.owner = one.borrower;
    if (one.borrower == run_id) returned[one.owner].push_back(lease->first);
    if (is_owner || one.borrower == run_id) one.borrower.clear();
    ++lease;
  }
  for (auto& [owner, nodes] : returned)
    out.emplace_back(ReturnNodes{.run_id = owner, .nodes = std::move(nodes)});
  for (auto& [id, entry] : runs_) begin_if_complete(entry, out);
}

// A late report, after the borrower has gone, has no effect.
void RunQueue::cleared(const std::string& run_id, const std::string& node, QueueActions& out) {
  const auto lease = leases_.find(node);
  if (lease == leases_.end() || lease->second.owner != run_id || lease->second.borrower.empty())
    return;
  lease->second.cleared = true;
  begin_if_complete(runs_.at(lease->second.borrower), out);
}

// A borrower waits for the last task of the owner on each of its nodes: two tasks on one NIC would
// measure each other.
void RunQueue::begin_if_complete(Entry& entry, QueueActions& out) {
  if (entry.state != State::kTaking) return;
  const bool complete = std::ranges::all_of(entry.run.nodes, [this](const std::string& node) {
    const Lease& lease = leases_.at(node);
    return lease.borrower.empty() || lease.cleared;
  });
  if (!complete) return;
  entry.state = State::kBegun;
  out.emplace_back(BeginRun{entry.run.run_id});
}

// Waiting runs, the first one first. One that was passed often enough goes before all others.
std::vector<RunQueue::Entry*> RunQueue::in_order() {
  std::vector<Entry*> waiting;
  for (auto& [id, entry] : runs_)
    if (entry.state == State::kWaiting) waiting.push_back(&entry);
  const auto place = [](const Entry* entry) {
    return was_passed_enough(*entry)
               ? std::tuple(0, Priority::kGate, std::uint64_t{0}, entry->arrival)
               : std::tuple(1, entry->run.priority, entry->turn, entry->arrival);
  };
  std::ranges::sort(waiting, {}, place);
  return waiting;
}

// Only nights lend: a person waits for his own run, and two gates are equals. The count keeps a
// night from being interrupted until its window is over.
bool RunQueue::may_borrow(const Entry& entry, const Lease& lease) const {
  if (entry.run.priority != Priority::kGate || !lease.borrower.empty()) return false;
  const Entry& owner = runs_.at(lease.owner);
  return owner.run.priority == Priority::kSchedule && owner.state == State::kBegun &&
         owner.interrupted < kMostInterruptions;
}

// Why the run cannot have its nodes now; empty: it can.
std::vector<RunWait> RunQueue::causes_of(const Entry& entry, const Bars& bars) const {
  Causes causes;
  for (const std::string& node : entry.run.nodes) {
    const auto bar = bars.find(node);
    const auto lease = leases_.find(node);
    if (lease != leases_.end() && !may_borrow(entry, lease->second))
      causes.add(RunWait::Kind::kNodes, lease->second.user(), node);
    else if (bar != bars.end() && (bar->second.all || entry.run.priority > bar->second.priority))
      causes.add(RunWait::Kind::kQueue, bar->second.run_id, node);
  }
  return causes.waits();
}

// The strongest bar of a node stays: the first one that keeps out all, else that of the highest
// priority.
void RunQueue::bar(const Entry& entry, Bars& bars) const {
  for (const std::string& node : entry.run.nodes) {
    const auto [known, is_new] = bars.try_emplace(node);
    Bar& bar = known->second;
    if (!is_new && (bar.all || bar.priority <= entry.run.priority)) continue;
    bar = {.run_id = entry.run.run_id,
           .all = was_passed_enough(entry),
           .priority = entry.run.priority};
  }
}

// Gives the run its nodes. Nodes of another run are lent to it.
void RunQueue::take(Entry& entry, QueueActions& out) {
  for (auto& [id, other] : runs_)
    if (other.state == State::kWaiting && other.arrival < entry.arrival &&
        share_a_node(other.run, entry.run))
      ++other.overtaken;
  Turns& turns = turns_[entry.run.priority];
  turns.now = std::max(turns.now, entry.turn);
  std::map<std::string, std::vector<std::string>> lent;  // by owner
  for (const std::string& node : entry.run.nodes) {
    const auto [lease, is_free] = leases_.try_emplace(node);
    if (is_free) {
      lease->second.owner = entry.run.run_id;
      continue;
    }
    lease->second.borrower = entry.run.run_id;
    lease->second.cleared = false;
    lent[lease->second.owner].push_back(node);
  }
  entry.state = State::kTaking;
  for (auto& [owner, nodes] : lent) {
    ++runs_.at(owner).interrupted;
    out.emplace_back(LendNodes{.run_id = owner, .nodes = std::move(nodes), .to = entry.run.run_id});
  }
  begin_if_complete(entry, out);
}

// Begins what may begin, in order. Each run that takes its nodes can change what those behind it
// may do, so the walk starts again; it ends, because each walk takes a run from the waiting ones.
void RunQueue::decide(QueueActions& out) {
  Bars bars;
  // A run that has just been passed often enough has to be asked before those behind it.
  bool again = true;
  while (std::exchange(again, false)) {
    bars.clear();
    for (Entry* entry : in_order()) {
      entry->waits = causes_of(*entry, bars);
      if (!entry->waits.empty()) {
        bar(*entry, bars);
        continue;
      }
      take(*entry, out);
      again = true;
      break;
    }
  }
}

bool RunQueue::has_begun(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  return found != runs_.end() && found->second.state == State::kBegun;
}

// A run that takes its nodes has not begun for those who look.
std::size_t RunQueue::waiting() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      runs_, [](const auto& one) { return one.second.state != State::kBegun; }));
}

std::size_t RunQueue::waiting(Priority priority) const {
  return static_cast<std::size_t>(std::ranges::count_if(runs_, [priority](const auto& one) {
    return one.second.state != State::kBegun && one.second.run.priority == priority;
  }));
}

// A waiting run knows its causes from the last decision. One that has begun waits only for nodes
// that it has lent; one that takes its nodes waits for nodes that others give up.
std::vector<RunWait> RunQueue::waits_of(const std::string& run_id) const {
  const auto found = runs_.find(run_id);
  if (found == runs_.end()) return {};
  if (found->second.state == State::kWaiting) return found->second.waits;
  Causes causes;
  for (const std::string& node : found->second.run.nodes) {
    const auto lease = leases_.find(node);
    if (lease == leases_.end() || lease->second.borrower.empty()) continue;
    if (lease->second.owner == run_id)
      causes.add(RunWait::Kind::kLent, lease->second.borrower, node);
    else if (lease->second.borrower == run_id && !lease->second.cleared)
      causes.add(RunWait::Kind::kYield, lease->second.owner, node);
  }
  return causes.waits();
}

std::vector<std::pair<std::string, std::string>> RunQueue::uncleared() const {
  std::vector<std::pair<std::string, std::string>> nodes;
  for (const auto& [node, lease] : leases_)
    if (!lease.borrower.empty() && !lease.cleared) nodes.emplace_back(lease.owner, node);
  return nodes;
}

// The borrower, where the node is lent: its tasks are the ones that run there.
std::string RunQueue::user_of(const std::string& node) const {
  const auto lease = leases_.find(node);
  return lease == leases_.end() ? "" : lease->second.user();
}

}  // namespace railgauge::run

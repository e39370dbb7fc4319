// Invariants of a run, whatever the order of events: random plans and policies from fixed seeds,
// tasks that end, fail, hang and are tried again, nodes that become busy or are lent, a cancel now
// and then.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "controller/run/run_machine.h"

namespace railgauge::run {
namespace {

constexpr std::uint32_t kAddedRound = 1'000;

class RunSimulation {
 public:
  explicit RunSimulation(std::uint32_t seed) : random_(seed) {
    make_policy();
    make_tasks();
    policy_.drill_down = seed % 3 == 0;
    planned_ = tasks_.size();
    machine_ = std::make_unique<RunMachine>(tasks_, policy_, uplinks_);
    machine_->start(now_, actions_);
    check();
  }

  void play() {
    for (int event = 0; event < 400 && !finished_; ++event) {
      random_event();
      check();
    }
    // From here on all that is under way ends, lent nodes are back, and time passes.
    machine_->take_back({lent_.begin(), lent_.end()}, now_, actions_);
    lent_.clear();
    check();
    for (int step = 0; step < 2000 && !finished_; ++step) {
      if (under_way_.empty()) {
        now_ += 30;
        machine_->tick(now_, actions_);
      } else {
        end_one(*under_way_.begin());
      }
      check();
    }
    ASSERT_TRUE(finished_) << "it did not end";
    ASSERT_TRUE(under_way_.empty());
    ASSERT_EQ(ends_.size(), tasks_.size());
    ASSERT_EQ(machine_->tasks_ended(), tasks_.size());
  }

  [[nodiscard]] std::size_t measured_elsewhere() const { return elsewhere_.size(); }
  [[nodiscard]] std::size_t interruptions() const { return interruptions_; }

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void make_policy() {
    policy_.quorum = pick(2) == 0 ? 0.98 : 0.5;
    policy_.settle_seconds = pick(3);
    policy_.max_attempts = 1 + pick(3);
    policy_.max_tasks = pick(4);
    policy_.max_tasks_per_leaf = pick(3);
    policy_.round_deadline_seconds = pick(2) == 0 ? 0 : 8;
    if (pick(3) == 0) policy_.stop.failures = 1 + pick(4);
    if (pick(3) == 0) policy_.on_failure = {OnFailure::kContinue, OnFailure::kStopStage};
    if (pick(4) == 0) policy_.stage_budget_seconds = {20};
    policy_.kindness.exclusive = pick(5) == 0;
    policy_.kindness.cross_leaf_share = 0.5;
    policy_.kindness.max_collective_nodes = 3;
    uplinks_ = {{"a", 4}, {"b", 2}};
  }

  void make_tasks() {
    static const std::vector<std::string> leaves{"a", "b", "c"};
    tasks_.resize(pick(30));
    for (RunTaskSpec& task : tasks_) {
      task.round = pick(6);
      task.stage = task.round / 3;
      task.waived = pick(10) == 0;
      task.reason = "no NIC";
      task.nodes = 1 + pick(5);
      for (std::uint32_t i = 0; i < task.nodes; ++i)
        task.endpoints.push_back("n" + std::to_string(pick(8)));
      std::set<std::string> touched;
      for (std::uint32_t i = 0; i < pick(3); ++i) touched.insert(leaves[pick(3)]);
      task.leaves.assign(touched.begin(), touched.end());
      if (pick(3) > 0) make_pair(task);
      task.loads_fabric = pick(2) == 0;
      task.load_bits_per_second = task.loads_fabric ? 1 : 0;
    }
  }

  // Between two of the eight nodes, of which each second one is of another kind.
  void make_pair(RunTaskSpec& task) {
    const std::uint32_t first = pick(8);
    const std::uint32_t second = (first + 1 + pick(7)) % 8;
    for (const std::uint32_t node : {first, second}) {
      const std::string name = "n" + std::to_string(node);
      task.ends.push_back({.node = name,
                           .name = name,
                           .kind = node % 2 == 0 ? "even" : "odd",
                           .leaf = std::string(1, "abc"[node % 3]),
                           .endpoints = {name}});
    }
    task.nodes = 2;
    place_at_ends(task);
  }
  static void place_at_ends(RunTaskSpec& task) {
    task.endpoints = {task.ends[0].name, task.ends[1].name};
    const std::set<std::string> touched{task.ends[0].leaf, task.ends[1].leaf};
    task.leaves.assign(touched.begin(), touched.end());
  }

  void random_event() {
    now_ += 0.1 * pick(30);
    const std::uint32_t kind = pick(20);
    if (kind < 12 && !under_way_.empty()) {
      auto one = under_way_.begin();
      std::advance(one, pick(static_cast<std::uint32_t>(under_way_.size())));
      return end_one(*one);
    }
    if (kind < 16) return machine_->tick(now_, actions_);
    if (kind == 19 && pick(20) == 0) return machine_->cancel("stop", actions_);
    if (kind >= 18) return lend_or_take_back();
    busy_ = pick(2) == 0;
    machine_->set_busy(busy_ ? "n9 runs a job" : "", now_, actions_);
  }

  void lend_or_take_back() {
    const std::string node = "n" + std::to_string(pick(8));
    if (lent_.erase(node) > 0) return machine_->take_back({node}, now_, actions_);
    lent_.insert(node);
    machine_->lend({node}, "run g", now_, actions_);
  }

  // A task that was interrupted begins again, however often that was.
  void end_interrupted(std::size_t index) {
    under_way_.erase(index);
    given_up_.erase(index);
    if (machine_->task_ended(index, {.outcome = "cancelled", .interrupted = true}, now_, actions_))
      --starts_[index];
    else
      ASSERT_TRUE(ends_.insert(index).second) << "ended twice";
  }

  void end_one(std::size_t index) {
    if (interrupted_.erase(index) > 0 && pick(3) > 0) return end_interrupted(index);
    static const std::vector<std::string> words{"passed",    "passed",  "failed",   "waived",
                                                "timed_out", "crashed", "cancelled"};
    const std::string& word = words[pick(static_cast<std::uint32_t>(words.size()))];
    const bool may_retry = (word == "timed_out" || word == "crashed") && pick(2) == 0;
    under_way_.erase(index);
    given_up_.erase(index);
    if (machine_->task_ended(index, {word, "r", may_retry}, now_, actions_)) {
      ASSERT_TRUE(may_retry);
    } else {
      ASSERT_TRUE(ends_.insert(index).second) << "ended twice";
      if (word == "failed" || word == "timed_out" || word == "crashed") failed_.insert(index);
      if (word == "passed") passed_.insert(index);
    }
  }

  void check() {
    while (!actions_.empty()) {
      for (const RunAction& action : std::exchange(actions_, {})) {
        ASSERT_FALSE(finished_) << "an action after the end";
        std::visit([this](const auto& one) { see(one); }, action);
      }
      if (asked_) answer();
    }
  }

  // Two waves of two tasks that both want what the first one has, then none.
  void answer() {
    asked_ = false;
    std::vector<RunTaskSpec> more;
    if (++waves_ <= 2) more.assign(2, tasks_.front());
    for (RunTaskSpec& task : more) {
      task.ends.clear();
      task.waived = false;
      task.round = kAddedRound;
      tasks_.push_back(task);
    }
    ASSERT_TRUE(machine_->add_follow_ups(more, now_, actions_));
  }

  void see(const WantFollowUps&) {
    ASSERT_TRUE(policy_.drill_down && under_way_.empty());
    ASSERT_FALSE(asked_);
    asked_ = true;
  }
  void see(const InterruptTask& interrupt) {
    ASSERT_TRUE(under_way_.contains(interrupt.index));
    interrupted_.insert(interrupt.index);
    ++interruptions_;
  }
  void see(const StartTask& start) {
    const RunTaskSpec& task = tasks_[start.index];
    for (const std::string& endpoint : task.endpoints)
      ASSERT_FALSE(lent_.contains(endpoint)) << endpoint << " is lent";
    ASSERT_FALSE(task.waived || ends_.contains(start.index));
    ASSERT_LE(++starts_[start.index], policy_.max_attempts);
    const std::set<std::string> mine(task.endpoints.begin(), task.endpoints.end());
    for (const std::size_t other : under_way_)
      for (const std::string& endpoint : tasks_[other].endpoints)
        ASSERT_FALSE(mine.contains(endpoint)) << endpoint << " is in two tasks";
    ASSERT_TRUE(under_way_.insert(start.index).second);
    if (policy_.max_tasks > 0) {
      ASSERT_LE(under_way_.size(), policy_.max_tasks);
    }
    check_leaves(task);
  }

  static std::set<std::string> leaves_of(const RunTaskSpec& task) {
    if (task.leaves.empty()) return {""};
    return {task.leaves.begin(), task.leaves.end()};
  }

  void check_leaves(const RunTaskSpec& begun) {
    const bool kind = busy_ && !policy_.kindness.exclusive;
    if (kind) {
      ASSERT_LE(begun.nodes, policy_.kindness.max_collective_nodes);
    }
    for (const std::string& leaf : leaves_of(begun)) {
      std::uint32_t tasks = 0;
      std::uint32_t loading = 0;
      double leaving = 0;
      for (const std::size_t index : under_way_) {
        const RunTaskSpec& task = tasks_[index];
        if (!leaves_of(task).contains(leaf)) continue;
        ++tasks;
        loading += task.loads_fabric ? 1 : 0;
        if (task.loads_fabric && task.leaves.size() > 1) leaving += task.load_bits_per_second;
      }
      if (policy_.max_tasks_per_leaf > 0) {
        ASSERT_LE(tasks, policy_.max_tasks_per_leaf);
      }
      if (!kind || !begun.loads_fabric) continue;
      ASSERT_LE(loading, policy_.kindness.bandwidth_tasks_per_leaf);
      if (begun.leaves.size() > 1) {
        ASSERT_TRUE(uplinks_.contains(leaf));
        ASSERT_LE(leaving, 0.5 * uplinks_[leaf] + 1);
      }
    }
  }

  void see(const OpenRound& opened) {
    for (const auto& [index, spec] : *opened.tasks) {
      ASSERT_FALSE(ends_.contains(index));
      ASSERT_EQ(spec.round, tasks_[index].round);
    }
  }
  // The engine numbers rounds without gaps.
  void see(const SkipRounds& skipped) {
    std::set<std::uint32_t> rounds;
    for (std::size_t i = 0; i < planned_; ++i) rounds.insert(tasks_[i].round);
    std::size_t count = 0;
    for (const std::uint32_t number : skipped.rounds) {
      const std::uint32_t round = *std::next(rounds.begin(), number);
      for (std::size_t i = 0; i < planned_; ++i) {
        if (tasks_[i].round != round) continue;
        ASSERT_TRUE(ends_.insert(i).second) << "ended twice";
        ASSERT_EQ(skipped.stage, tasks_[i].stage);
        ++count;
      }
    }
    ASSERT_EQ(count, skipped.tasks);
  }
  void see(const GiveUpTask& late) {
    ASSERT_TRUE(under_way_.contains(late.index));
    ASSERT_TRUE(given_up_.insert(late.index).second) << "given up twice";
  }
  void see(const CancelTaskAction& cancel) { ASSERT_TRUE(under_way_.contains(cancel.index)); }
  void see(const SkipTask& skip) {
    ASSERT_FALSE(under_way_.contains(skip.index));
    ASSERT_TRUE(ends_.insert(skip.index).second) << "ended twice";
  }
  // Each end of a failed pair at most once in a stage, with another partner that has passed.
  void see(const AddTask& added) {
    const Elsewhere& made_of = added.made_of;
    ASSERT_EQ(added.index, tasks_.size());
    ASSERT_TRUE(failed_.contains(made_of.failed));
    RunTaskSpec task = tasks_[made_of.failed];
    ASSERT_FALSE(task.round == kAddedRound) << "an added task asked for another";
    const PairEnd& partner = tasks_[made_of.partner_task].ends[made_of.partner_rank];
    const PairEnd kept = task.ends[1 - made_of.replaced_rank];
    ASSERT_NE(partner.node, kept.node);
    ASSERT_NE(partner.node, task.ends[made_of.replaced_rank].node);
    ASSERT_EQ(partner.kind, task.ends[made_of.replaced_rank].kind);
    ASSERT_TRUE(has_passed(partner.name, task.stage));
    ASSERT_TRUE(elsewhere_.insert({task.stage, kept.name}).second) << kept.name << " twice";
    task.ends[made_of.replaced_rank] = partner;
    task.round = kAddedRound;
    place_at_ends(task);
    tasks_.push_back(std::move(task));
  }
  bool has_passed(const std::string& end, std::uint32_t stage) const {
    return std::ranges::any_of(passed_, [&](std::size_t index) {
      return tasks_[index].stage == stage &&
             std::ranges::count(tasks_[index].ends, end, &PairEnd::name) > 0;
    });
  }
  void see(const RunFinished&) {
    ASSERT_TRUE(under_way_.empty());
    finished_ = true;
  }

  std::mt19937 random_;
  RoundPolicy policy_;
  LeafUplinks uplinks_;
  std::vector<RunTaskSpec> tasks_;
  std::size_t planned_ = 0;
  std::unique_ptr<RunMachine> machine_;
  RunActions actions_;
  double now_ = 0;
  bool busy_ = false;
  bool finished_ = false;
  bool asked_ = false;  // what follows from what was measured
  std::uint32_t waves_ = 0;
  std::set<std::size_t> under_way_;
  std::set<std::size_t> given_up_;
  std::set<std::string> lent_;
  std::set<std::size_t> interrupted_;
  std::size_t interruptions_ = 0;
  std::set<std::size_t> ends_;
  std::set<std::size_t> failed_;
  std::set<std::size_t> passed_;
  std::set<std::pair<std::uint32_t, std::string>> elsewhere_;
  std::map<std::size_t, std::uint32_t> starts_;
};

TEST(RoundProperty, InAnyOrderLeasesAndCapsHoldEveryTaskEndsOnceAndTheRunEnds) {
  std::size_t elsewhere = 0;
  std::size_t interruptions = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    RunSimulation simulation(seed);
    simulation.play();
    elsewhere += simulation.measured_elsewhere();
    interruptions += simulation.interruptions();
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(elsewhere, 1'000u) << "other partners were hardly tried";
  EXPECT_GT(interruptions, 1'000u) << "tasks were hardly interrupted";
}

}  // namespace
}  // namespace railgauge::run

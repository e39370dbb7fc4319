// The task machine's rules under random orders of events: fixed seeds, three simulated nodes that
// answer, refuse, crash, detach, resume, restart and fall silent.
#include <memory>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "controller/run/task_machine.h"

namespace railgauge::run {
namespace {

struct FakeNode {
  Presence::State state = Presence::State::kAttached;
  std::set<std::uint32_t> running;  // ranks of the current attempt with a runner
};

// Plays the fleet and the agents, and checks each action against the rules as it comes.
class Simulation {
 public:
  explicit Simulation(std::uint32_t seed) : random_(seed) {
    TaskSpec spec{.task_id = "t", .ranks = {}, .deadline_seconds = 20};
    const std::uint32_t ranks = 1 + pick(4);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      spec.ranks.push_back({"n" + std::to_string(pick(3)), "rxe0:1"});
    machine_ = std::make_unique<TaskMachine>(spec);
    std::map<std::string, Presence> presence;
    for (int i = 0; i < 3; ++i) {
      nodes_["n" + std::to_string(i)] = {};
      presence["n" + std::to_string(i)] = {Presence::State::kAttached, now_};
    }
    machine_->start(presence, now_, actions_);
    check();
  }

  void play() {
    for (int event = 0; event < 200 && !finished_; ++event) {
      random_event();
      check();
    }
    for (int tick = 0; tick < 100 && !finished_; ++tick) {  // silence: only time passes
      const auto next = machine_->next_tick();
      ASSERT_TRUE(next.has_value());
      now_ = std::max(now_, *next);
      machine_->tick(now_, actions_);
      check();
    }
    ASSERT_TRUE(finished_) << "it did not end";
    ASSERT_EQ(machine_->state(), TaskState::kEnded);
  }

 private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  FakeNode& node_of(std::uint32_t rank) { return nodes_[machine_->spec().ranks[rank].node]; }

  void agent_event() {
    const std::uint32_t rank = pick(machine_->size());
    FakeNode& node = node_of(rank);
    if (node.state != Presence::State::kAttached || !node.running.contains(rank)) return;
    const std::uint32_t attempt = machine_->attempt();
    switch (pick(10)) {
      case 0:
        node.running.erase(rank);
        self_ended_.insert(rank);
        return machine_->refused(attempt, rank, pick(2) == 0 ? "waived" : "nonsense", "no", now_,
                                 actions_);
      case 1:
        node.running.erase(rank);
        self_ended_.insert(rank);
        return machine_->ended(attempt, rank, pick(2) == 0 ? "failed" : "crashed", "e", now_,
                               actions_);
      case 2:
        if (machine_->state() == TaskState::kPreparing) return;
        node.running.erase(rank);
        self_ended_.insert(rank);
        machine_->stored(attempt, rank, 1, RankEnd{"passed", ""}, now_, actions_);
        return machine_->ended(attempt, rank, "passed", "", now_, actions_);
      case 3:
      case 4:
        return machine_->step(attempt, rank, random_step(), now_, actions_);
      default:
        prepared_.insert(rank);
        return machine_->prepared(attempt, rank, now_, actions_);
    }
  }

  GroupStep random_step() {
    GroupStep said;
    said.set_step(pick(3));
    said.add_payloads("p");
    said.set_brief(pick(2) == 0);
    said.set_loudness(pick(3));
    return said;
  }

  void node_event() {
    const std::string name = "n" + std::to_string(pick(3));
    FakeNode& node = nodes_[name];
    const bool attached = node.state == Presence::State::kAttached;
    switch (pick(4)) {
      case 0:
        if (!attached) return;
        node.state = Presence::State::kDetached;
        return machine_->node_detached(name, now_, actions_);
      case 1:
        if (node.state != Presence::State::kDetached) return;
        node.state = Presence::State::kAttached;
        for (std::uint32_t rank = 0; rank < machine_->size(); ++rank)
          if (machine_->spec().ranks[rank].node == name) told_.erase(rank);
        if (pick(4) == 0) node.running.clear();  // it ended meanwhile, or Prepare never arrived
        return machine_->node_resumed(name, {node.running.begin(), node.running.end()}, now_,
                                      actions_);
      case 2:
        if (node.state == Presence::State::kLost) return;
        node = {Presence::State::kLost, {}};
        return machine_->node_lost(name, now_, actions_);
      default:
        if (attached) return;
        node = {Presence::State::kAttached, {}};
        return machine_->node_attached(name, now_, actions_);
    }
  }

  void random_event() {
    now_ += 0.01 * pick(100);
    const std::uint32_t kind = pick(20);
    if (kind < 14) return agent_event();
    if (kind < 17) return node_event();
    if (kind == 17 && pick(6) == 0) return machine_->cancel("stop", now_, actions_);
    machine_->tick(now_, actions_);
  }

  void check() {
    for (const TaskAction& action : actions_)
      std::visit([this](const auto& a) { check_one(a); }, action);
    actions_.clear();
  }
  void expect_reachable(std::uint32_t rank) {
    EXPECT_FALSE(finished_);
    EXPECT_EQ(node_of(rank).state, Presence::State::kAttached) << "sent to a node that is away";
    EXPECT_FALSE(self_ended_.contains(rank)) << "sent to a rank that has ended";
  }
  void check_one(const AttemptStarted& started) {
    EXPECT_LE(started.attempt, machine_->spec().max_attempts);
    prepared_.clear();
    told_.clear();
    self_ended_.clear();
  }
  void check_one(const SendPrepare& send) {
    expect_reachable(send.rank);
    node_of(send.rank).running.insert(send.rank);
  }
  void check_one(const SendGo& send) {
    expect_reachable(send.rank);
    EXPECT_EQ(prepared_.size(), machine_->size()) << "Go before all were prepared";
  }
  void check_one(const SendStep& send) {
    expect_reachable(send.rank);
    const auto all = payloads_of(send.answer(), send.answer().step(), machine_->size());
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->front(), "p") << "rank 0 is heard by all";
    EXPECT_LE(send.answer().payloads_size(), static_cast<int>(machine_->size()));
  }
  void check_one(const SendCancel& send) {
    expect_reachable(send.rank);
    EXPECT_FALSE(send.reason.empty());
    EXPECT_TRUE(told_.insert(send.rank).second) << "a rank was told to end twice on one connection";
  }
  void check_one(const AttemptEnded& ended) {
    if (ended.outcome == "passed") {
      EXPECT_EQ(self_ended_.size(), machine_->size());
    }
    if (ended.outcome != "cancelled") return;
    for (const auto& [name, node] : nodes_)
      EXPECT_TRUE(node.running.empty()) << "cancelled while a runner is alive on " << name;
  }
  void check_one(const TaskFinished& end) {
    EXPECT_FALSE(finished_) << "ended twice";
    EXPECT_TRUE(end.outcome == "passed" || !end.reason.empty()) << end.outcome;
    finished_ = true;
  }

  std::mt19937 random_;
  std::unique_ptr<TaskMachine> machine_;
  std::map<std::string, FakeNode> nodes_;
  TaskActions actions_;
  std::set<std::uint32_t> prepared_;
  std::set<std::uint32_t> told_;        // a cancel, on the present connection
  std::set<std::uint32_t> self_ended_;  // of the present attempt
  double now_ = 0;
  bool finished_ = false;
};

TEST(TaskMachineProperty, KeepsItsRulesInAnyOrderOfEvents) {
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).play();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace railgauge::run

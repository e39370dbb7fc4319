// Invariants of the queue of runs, whatever the order of events: runs that come, end and are
// cancelled, lenders that clear their nodes late, from fixed seeds.
#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/run/run_queue.h"

namespace railgauge::run {
namespace {

// Plays the owner of the queue: runs that end at random times, lenders that clear late.
class QueueSimulation {
 public:
  explicit QueueSimulation(std::uint32_t seed) : random_(seed) {}

  void play() {
    for (int event = 0; event < 300; ++event) {
      random_event();
      if (testing::Test::HasFatalFailure()) return;
      check();
    }
    for (int event = 0; event < 10'000 && !runs_.empty(); ++event) {
      if (!clear_one()) end_one();
      if (testing::Test::HasFatalFailure()) return;
      check();
    }
    ASSERT_TRUE(runs_.empty()) << "a run never began";
    ASSERT_EQ(queue_.leased(), 0U);
    ASSERT_EQ(queue_.waiting(), 0U);
  }

  std::uint32_t loans_ = 0;
  std::uint32_t side_by_side_ = 0;
  std::uint32_t most_passed_ = 0;

 private:
  struct Known {
    Priority priority = Priority::kCli;
    std::set<std::string> nodes{};
    std::set<std::string> lent{};  // of a run that has begun: not used by it
    bool has_taken = false;        // its nodes, or it waits for lenders to clear them
    bool has_begun = false;
    std::uint64_t arrival = 0;
    std::uint32_t passed = 0;  // by later runs that share a node with it
    std::uint32_t interrupted = 0;
  };
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void random_event() {
    const std::uint32_t kind = pick(10);
    if (kind < 4) return add_one();
    if (kind < 7 && clear_one()) return;
    if (kind == 9 && !runs_.empty()) return remove(any_run());  // cancelled, whatever its state
    end_one();
  }

  void add_one() {
    if (runs_.size() > 12) return;
    const std::string id = "r" + std::to_string(arrivals_);
    Known known{.arrival = arrivals_++};
    known.priority =
        std::vector{Priority::kGate, Priority::kCli, Priority::kCli, Priority::kSchedule}[pick(4)];
    const std::uint32_t size = known.priority == Priority::kSchedule ? 6 + pick(5) : 1 + pick(3);
    while (known.nodes.size() < size) known.nodes.insert("n" + std::to_string(pick(12)));
    QueuedRun run{.run_id = id,
                  .priority = known.priority,
                  .requester = "by " + std::to_string(pick(3)),
                  .nodes = {known.nodes.begin(), known.nodes.end()}};
    runs_[id] = std::move(known);
    QueueActions out;
    queue_.add(std::move(run), out);
    see_all(out);
  }

  std::string any_run() {
    auto one = runs_.begin();
    std::advance(one, pick(static_cast<std::uint32_t>(runs_.size())));
    return one->first;
  }

  // A run ends only when it has begun.
  void end_one() {
    std::vector<std::string> begun;
    for (const auto& [id, run] : runs_)
      if (run.has_begun) begun.push_back(id);
    if (!begun.empty()) remove(begun[pick(static_cast<std::uint32_t>(begun.size()))]);
  }

  void remove(const std::string& id) {
    runs_.erase(id);
    QueueActions out;
    queue_.remove(id, out);
    see_all(out);
  }

  bool clear_one() {
    const auto uncleared = queue_.uncleared();
    if (uncleared.empty()) return false;
    const auto& [id, node] = uncleared[pick(static_cast<std::uint32_t>(uncleared.size()))];
    busy_.erase({id, node});
    QueueActions out;
    queue_.cleared(id, node, out);
    see_all(out);
    return true;
  }

  void see_all(const QueueActions& actions) {
    for (const QueueAction& action : actions)
      std::visit([this](const auto& one) { see(one); }, action);
  }

  static bool meet(const Known& one, const Known& other) {
    return std::ranges::any_of(one.nodes,
                               [&](const std::string& node) { return other.nodes.contains(node); });
  }

  // Nobody uses the nodes, also not a lender that has not cleared them.
  void see(const BeginRun& action) {
    Known& run = runs_.at(action.run_id);
    ASSERT_FALSE(run.has_begun);
    for (const auto& [id, other] : runs_) {
      if (id == action.run_id) continue;
      for (const std::string& node : run.nodes) {
        ASSERT_FALSE(other.has_begun && other.nodes.contains(node) && !other.lent.contains(node))
            << action.run_id << " and " << id << " on " << node;
        ASSERT_FALSE(busy_.contains({id, node})) << id << " has not cleared " << node;
      }
      if (other.has_begun) ++side_by_side_;
    }
    run.has_begun = true;
    note_taken(action.run_id);
  }

  // A later run goes first only by its priority or in the same one, and only so often.
  void note_taken(const std::string& taker) {
    Known& run = runs_.at(taker);
    if (std::exchange(run.has_taken, true)) return;
    for (auto& [id, other] : runs_) {
      if (other.has_taken || !meet(run, other)) continue;
      if (other.arrival < run.arrival) {
        ASSERT_LE(++other.passed, RunQueue::kMostOvertakes) << id;
        most_passed_ = std::max(most_passed_, other.passed);
      }
      const bool is_lower = run.priority > other.priority;
      ASSERT_TRUE(!is_lower || run.passed >= RunQueue::kMostOvertakes)
          << taker << " went before " << id;
    }
  }

  void see(const LendNodes& action) {
    Known& lender = runs_.at(action.run_id);
    ASSERT_EQ(lender.priority, Priority::kSchedule);
    ASSERT_EQ(runs_.at(action.to).priority, Priority::kGate);
    ASSERT_LE(++lender.interrupted, RunQueue::kMostInterruptions);
    for (const std::string& node : action.nodes) {
      ASSERT_TRUE(lender.nodes.contains(node) && lender.lent.insert(node).second);
      busy_.insert({action.run_id, node});
    }
    ++loans_;
    note_taken(action.to);
  }
  void see(const ReturnNodes& action) {
    Known& lender = runs_.at(action.run_id);
    for (const std::string& node : action.nodes) {
      ASSERT_EQ(lender.lent.erase(node), 1U);
      busy_.erase({action.run_id, node});
    }
  }

  // A run that waits says for whom, and that run is there.
  void check() {
    for (const auto& [id, run] : runs_) {
      ASSERT_EQ(queue_.has_begun(id), run.has_begun);
      const std::vector<RunWait> waits = queue_.waits_of(id);
      ASSERT_EQ(waits.empty(), run.has_begun && run.lent.empty()) << id;
      for (const RunWait& wait : waits) {
        ASSERT_TRUE(runs_.contains(wait.run_id)) << id << " waits for " << wait.run_id;
        ASSERT_NE(wait.run_id, id);
        ASSERT_FALSE(wait.nodes.empty());
      }
    }
    for (auto busy = busy_.begin(); busy != busy_.end();)
      busy = runs_.contains(busy->first) ? std::next(busy) : busy_.erase(busy);
  }

  std::mt19937 random_;
  RunQueue queue_;
  std::map<std::string, Known> runs_;
  std::set<std::pair<std::string, std::string>> busy_;  // lenders with tasks on a lent node
  std::uint64_t arrivals_ = 0;
};

TEST(RunQueueProperty, NodesAreUsedOnceNobodyStarvesAndAllIsReleased) {
  std::uint32_t loans = 0;
  std::uint32_t side_by_side = 0;
  std::uint32_t most_passed = 0;
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    QueueSimulation simulation(seed);
    simulation.play();
    loans += simulation.loans_;
    side_by_side += simulation.side_by_side_;
    most_passed = std::max(most_passed, simulation.most_passed_);
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(loans, 500U) << "gates hardly borrowed";
  EXPECT_GT(side_by_side, 1'000U) << "runs were hardly side by side";
  EXPECT_THAT(most_passed, RunQueue::kMostOvertakes) << "the bound was never met";
}

}  // namespace
}  // namespace railgauge::run

// The shares of uplinks: single rules first, then rounds of several runs side by side from fixed
// seeds.
#include "controller/run/uplink_ledger.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/run/round_engine.h"

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::vector<std::string> kAcross{"a", "b"};

constexpr double kGigabit = 1e9;
constexpr double kRounding = 1;

UplinkLedger two_runs() {
  UplinkLedger ledger;
  ledger.join("night", {{"a", 4 * kGigabit}, {"b", 4 * kGigabit}});
  ledger.join("two", {});
  return ledger;
}

TEST(UplinkLedger, ARunThatIsAloneOnTheLinksLoadsThemBeyondTheirRate) {
  UplinkLedger ledger;
  ledger.join("night", {{"a", 4 * kGigabit}, {"b", 4 * kGigabit}});
  EXPECT_TRUE(ledger.is_alone("night"));
  EXPECT_TRUE(ledger.allows("night", kAcross, 9 * kGigabit));
  ledger.join("two", {});
  EXPECT_FALSE(ledger.is_alone("night"));
  EXPECT_TRUE(ledger.allows("night", kAcross, 9 * kGigabit)) << "the other run does not load them";
}

TEST(UplinkLedger, TogetherRunsStayWithinTheRateOfEachLeaf) {
  UplinkLedger ledger = two_runs();
  ledger.take("night", kAcross, 3 * kGigabit);
  EXPECT_FALSE(ledger.allows("two", kAcross, 2 * kGigabit));
  EXPECT_TRUE(ledger.allows("two", kAcross, 1 * kGigabit));
  EXPECT_TRUE(ledger.allows("two", {"c", "d"}, 9 * kGigabit)) << "leaves of unknown rate";
  ledger.take("two", kAcross, 1 * kGigabit);
  EXPECT_FALSE(ledger.allows("night", kAcross, 1 * kGigabit));
  ledger.give_back("two", kAcross, 1 * kGigabit);
  EXPECT_TRUE(ledger.allows("night", kAcross, 9 * kGigabit));
}

TEST(UplinkLedger, ARunLeavesRoomForAnEarlierClaim) {
  UplinkLedger ledger = two_runs();
  ledger.take("night", kAcross, 4 * kGigabit);
  ledger.set_claim("two", {{"a", 2 * kGigabit}, {"b", 2 * kGigabit}});
  EXPECT_THAT(ledger.waits_of("two"), ElementsAre(Pair("night", ElementsAre("a", "b"))));
  ledger.give_back("night", kAcross, 4 * kGigabit);
  EXPECT_FALSE(ledger.allows("night", kAcross, 3 * kGigabit))
      << "its next task would keep the other out";
  EXPECT_TRUE(ledger.allows("night", kAcross, 2 * kGigabit));
  ledger.set_claim("night", {{"a", 3 * kGigabit}, {"b", 3 * kGigabit}});
  EXPECT_TRUE(ledger.allows("two", kAcross, 2 * kGigabit)) << "its claim is the earlier one";
  EXPECT_THAT(ledger.waits_of("night"), ElementsAre(Pair("two", ElementsAre("a", "b"))));
  ledger.take("two", kAcross, 2 * kGigabit);
  ledger.give_back("two", kAcross, 2 * kGigabit);
  ledger.set_claim("two", {{"a", 2 * kGigabit}, {"b", 2 * kGigabit}});
  EXPECT_FALSE(ledger.allows("two", kAcross, 2 * kGigabit)) << "now it is the later one";
  EXPECT_TRUE(ledger.allows("night", kAcross, 3 * kGigabit));
}

TEST(UplinkLedger, ARunThatHasLeftHoldsNothing) {
  UplinkLedger ledger = two_runs();
  ledger.take("night", kAcross, 4 * kGigabit);
  ledger.set_claim("two", {{"a", 1 * kGigabit}});
  ledger.leave("two");
  EXPECT_TRUE(ledger.allows("night", kAcross, 1 * kGigabit));
  ledger.leave("night");
  EXPECT_TRUE(ledger.empty());
  EXPECT_EQ(ledger.load_of("a"), 0);
  EXPECT_THAT(ledger.runs_on("a"), IsEmpty());
}

// Runs with nodes of their own on common leaves, whose tasks end in a random order.
class SharedLinks {
 public:
  explicit SharedLinks(std::uint32_t seed) : random_(seed) {
    const std::uint32_t runs = 2 + pick(3);
    for (std::uint32_t run = 0; run < runs; ++run) add_run("r" + std::to_string(run));
  }

  void play() {
    for (int step = 0; step < 5'000 && ends_ < tasks_; ++step) {
      if (pick(3) == 0 || !end_one()) {
        now_ += 0.1;
        for (Side& side : sides_) poll(side);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(ends_, tasks_) << "a run waits for ever";
    for (Side& side : sides_) ledger_.leave(side.id);
    ASSERT_TRUE(ledger_.empty());
    ASSERT_EQ(ledger_.load_of("a") + ledger_.load_of("b") + ledger_.load_of("c"), 0);
  }

  std::uint32_t shared_ = 0;  // starts beside the load of another run
  std::uint32_t beyond_ = 0;  // starts of a run that is alone, beyond the rate

 private:
  struct Side {
    std::string id{};
    std::vector<RunTaskSpec> tasks{};
    std::unique_ptr<RoundEngine> engine{};
    std::vector<std::size_t> under_way{};
  };
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  void add_run(const std::string& id) {
    Side side{.id = id};
    for (std::uint32_t i = 0; i < 20 + pick(20); ++i) {
      RunTaskSpec task{.round = pick(4), .loads_fabric = pick(4) > 0};
      task.endpoints = {id + std::to_string(pick(8)) + "/x", id + std::to_string(pick(8)) + "/x"};
      std::set<std::string> leaves;
      for (std::uint32_t end = 0; end < 2; ++end) leaves.insert(std::string(1, "abc"[pick(3)]));
      task.leaves.assign(leaves.begin(), leaves.end());
      task.load_bits_per_second = (1 + pick(6)) * kGigabit;  // some alone are beyond the rate
      task.nodes = 2;
      side.tasks.push_back(std::move(task));
    }
    tasks_ += side.tasks.size();
    RoundPolicy policy;
    policy.quorum = 1;
    policy.straggler_slack_seconds = 1e9;
    policy.round_deadline_seconds = 1e9;
    side.engine = std::make_unique<RoundEngine>(std::make_shared<const ListedTasks>(side.tasks),
                                                policy, rates_);
    side.engine->share_uplinks(ledger_, id);
    ledger_.join(id, rates_);
    sides_.push_back(std::move(side));
    sides_.back().engine->start(now_);
    poll(sides_.back());
  }

  void poll(Side& side) {
    EngineActions out;
    side.engine->poll(now_, out);
    for (const EngineAction& action : out) {
      if (std::holds_alternative<OpenRound>(action)) continue;
      ASSERT_TRUE(std::holds_alternative<StartTask>(action));
      side.under_way.push_back(std::get<StartTask>(action).index);
      const RunTaskSpec& task = side.tasks[side.under_way.back()];
      if (!task.loads_fabric || task.leaves.size() < 2) continue;
      for (const std::string& leaf : task.leaves) check(leaf);
    }
  }

  // The loads that this test counts itself.
  void check(const std::string& leaf) {
    double total = 0;
    std::set<std::string> runs;
    for (const Side& side : sides_)
      for (const std::size_t index : side.under_way) {
        const RunTaskSpec& task = side.tasks[index];
        if (!task.loads_fabric || task.leaves.size() < 2 ||
            std::ranges::count(task.leaves, leaf) == 0)
          continue;
        total += task.load_bits_per_second;
        runs.insert(side.id);
      }
    if (runs.size() > 1) {
      ++shared_;
      ASSERT_LE(total, rates_.at(leaf) + kRounding) << "leaf " << leaf;
    } else if (total > rates_.at(leaf)) {
      ++beyond_;
    }
  }

  bool end_one() {
    Side& side = sides_[pick(static_cast<std::uint32_t>(sides_.size()))];
    if (side.under_way.empty()) return false;
    const std::size_t place = pick(static_cast<std::uint32_t>(side.under_way.size()));
    const std::size_t index = side.under_way[place];
    side.under_way.erase(side.under_way.begin() + static_cast<std::ptrdiff_t>(place));
    side.engine->ended(index, false, now_);
    ++ends_;
    poll(side);
    return true;
  }

  std::mt19937 random_;
  UplinkLedger ledger_;
  const LeafUplinks rates_{{"a", 4 * kGigabit}, {"b", 6 * kGigabit}, {"c", 9 * kGigabit}};
  std::vector<Side> sides_;
  double now_ = 0;
  std::size_t tasks_ = 0;
  std::size_t ends_ = 0;
};

TEST(UplinkLedgerProperty, SharedLinksAreNeverBeyondTheirRateAndEveryTaskGetsItsTurn) {
  std::uint32_t shared = 0;
  std::uint32_t beyond = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SharedLinks links(seed);
    links.play();
    shared += links.shared_;
    beyond += links.beyond_;
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(shared, 1'000U) << "links were hardly shared";
  EXPECT_GT(beyond, 200U) << "no run was alone";
}

}  // namespace
}  // namespace railgauge::run

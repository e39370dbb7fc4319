// Whatever figures come in (not a number, zero, negative, infinite, equal, twice, none), what
// judges many of them answers with numbers, and a pass rests on figures that are some.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "controller/detect/peers.h"
#include "controller/detect/series_state.h"
#include "controller/verdict/cohort.h"
#include "controller/verdict/event_study.h"
#include "controller/verdict/testing/simulate.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kOdd{kNaN,  kInfinity, -kInfinity, 0.0,    -0.0,  -5.0,
                          1e308, -1e308,    5e-324,     1e-300, 100.0, 100.0001};

class Odd {
 public:
  // Every fourth is as figures should be, so that a pass is among the answers.
  explicit Odd(std::uint64_t seed)
      : chance_(seed),
        is_tame_(seed % 4 == 0),
        share_(is_tame_        ? 0
               : seed % 3 == 0 ? 0.3
                               : 0.03) {}
  [[nodiscard]] bool is_tame() const { return is_tame_; }
  std::size_t count(std::size_t below) {
    return static_cast<std::size_t>(chance_.uniform() * static_cast<double>(below));
  }
  bool one_in(std::size_t n) { return count(n) == 0; }
  double figure(bool constant = false) {
    if (chance_.uniform() < share_) return kOdd[count(kOdd.size())];
    return constant ? 100 : 100 * (1 + (is_tame_ ? 0.001 : 0.01) * chance_.normal());
  }
  std::vector<double> figures(std::size_t size) {
    std::vector<double> out(size);
    const bool constant = one_in(4);
    for (double& value : out) value = figure(constant);
    return out;
  }

 private:
  Chance chance_;
  bool is_tame_ = false;
  double share_ = 0;  // of figures that are none
};

UpgradeRuns odd_upgrade(Odd& odd, const std::string& id) {
  UpgradeRuns out{.id = id, .metrics = {}, .functions = {}};
  out.again = odd.one_in(2);
  for (std::size_t metric = odd.count(4); metric > 0; --metric) {
    MetricRuns& runs = out.metrics.emplace_back();
    runs.name = "metric" + std::to_string(metric);
    runs.traits = traits_of("ns", odd.one_in(2), "median");
    runs.is_shape = odd.one_in(4);
    for (std::size_t pair = odd.count(20); pair > 0; --pair) {
      PairRuns& one = runs.pairs.emplace_back();
      const std::size_t node = odd.count(12);
      one.changed = node < 6;
      one.node = "n" + std::to_string(node);
      one.endpoint = "a:1";
      if (odd.one_in(2)) {
        one.other_node = "n" + std::to_string(odd.count(12));
        one.other_endpoint = "a:1";
        one.other_changed = odd.one_in(2);
      }
      one.before = odd.figures(!odd.is_tame() && odd.one_in(5) ? odd.count(8) : 5);
      one.after = odd.one_in(5) ? one.before : odd.figures(5 + odd.count(3));
      if (odd.one_in(6)) runs.pairs.push_back(runs.pairs.back());  // reported twice
    }
  }
  return out;
}

void expect_numbers(const MetricVerdict& metric, const std::string& what) {
  EXPECT_TRUE(std::isfinite(metric.worse)) << what;
  EXPECT_FALSE(metric.low && !std::isfinite(*metric.low)) << what;
  EXPECT_FALSE(metric.high && !std::isfinite(*metric.high)) << what;
  EXPECT_TRUE(metric.p_worse >= 0 && metric.p_worse <= 1) << what << " p " << metric.p_worse;
  EXPECT_TRUE(metric.coverage >= 0 && metric.coverage <= 1) << what;
  for (const PairFlag& flag : metric.flags)
    EXPECT_FALSE(std::isnan(flag.worse) || std::isnan(flag.low)) << what;
}

TEST(JudgeProperty, AnUpgradeOfOddFiguresGetsAnAnswerInNumbers) {
  std::array<int, 4> seen{};
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Odd odd(seed);
    const UpgradeRuns upgrade = odd_upgrade(odd, std::to_string(seed));
    const UpgradeVerdict verdict = judge_upgrade(upgrade);
    const std::string what = "seed " + std::to_string(seed);
    ++seen[static_cast<std::size_t>(verdict.verdict)];
    for (const MetricVerdict& metric : verdict.metrics) expect_numbers(metric, what);
    EXPECT_TRUE(verdict.verdict == Verdict::kPass || !verdict.reason.empty()) << what;
    EXPECT_EQ(judge_upgrade(upgrade).reason, verdict.reason) << what;
    if (verdict.verdict != Verdict::kPass) continue;
    for (const MetricRuns& metric : upgrade.metrics)
      for (const PairRuns& pair : metric.pairs)
        EXPECT_TRUE(metric.is_shape || !pair.changed ||
                    (measured(pair.before) >= 5 && measured(pair.after) >= 5))
            << what << ": a pass without " << pair.node;
  }
  for (const int count : seen) EXPECT_GT(count, 0) << "each verdict was tried";
}

TEST(JudgeProperty, AGrowingSeriesOfOddFiguresStaysOneWithItsBatch) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Odd odd(seed);
    const std::vector<double> values = odd.figures(odd.count(200));
    SeriesState slow;
    for (const double value : values) slow.append(value, {});
    SeriesState fast;
    fast.append_all(values, {});
    const Findings one = slow.findings({});
    const Findings other = fast.findings({});
    ASSERT_EQ(one.changes.size(), other.changes.size()) << seed;
    for (std::size_t i = 0; i < one.changes.size(); ++i) {
      EXPECT_EQ(one.changes[i].index, other.changes[i].index) << seed;
      EXPECT_LT(one.changes[i].index, values.size()) << seed;
      EXPECT_FALSE(std::isnan(one.changes[i].effect)) << seed;
    }
  }
}

TEST(JudgeProperty, OddPeersAreMissingAndAccuseNobody) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Odd odd(seed);
    std::vector<Peer> peers(odd.count(30));
    for (Peer& peer : peers) peer.value = odd.figure();
    const auto standings = judge_peers(peers, Better::kLower, 0.002);
    ASSERT_EQ(standings.size(), peers.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const bool is_figure = std::isfinite(peers[i].value) && peers[i].value > 0;
      EXPECT_TRUE(is_figure || !standings[i].judged) << seed;
      EXPECT_FALSE(std::isnan(standings[i].z)) << seed;
    }
    std::vector<PairFigure> figures(odd.count(90));
    for (PairFigure& figure : figures)
      figure = {.from = odd.count(10), .to = odd.count(10), .value = odd.figure()};
    for (const PeerScore& one : judge_pairs(figures, 10, Better::kHigher, 0.002).nodes)
      EXPECT_FALSE(std::isnan(one.z) || std::isnan(one.worse)) << seed;
  }
}

TEST(JudgeProperty, ARolloutOfOddNightsIsNoNumberThatIsNone) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Odd odd(seed);
    std::vector<RolloutNode> nodes(odd.count(12));
    for (RolloutNode& node : nodes) {
      node.nights = odd.figures(odd.count(40));
      if (odd.one_in(2)) node.upgraded_at = odd.count(45);
    }
    const EventStudy study = study_rollout(nodes, Better::kHigher, 0.01);
    EXPECT_TRUE(std::isfinite(study.worse)) << seed;
    EXPECT_FALSE(study.low && std::isnan(*study.low)) << seed;
    for (const StudyNight& night : study.nights) EXPECT_TRUE(std::isfinite(night.worse)) << seed;
  }
}

}  // namespace
}  // namespace railgauge::analysis

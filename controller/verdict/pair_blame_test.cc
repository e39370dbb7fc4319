#include "controller/verdict/cohort.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {
namespace {

using testing::Not;
using testing::UnorderedElementsAre;

// A ring of n1, n2, ...; what each pair lost.
std::vector<PairLoss> ring(const std::vector<double>& losses) {
  std::vector<PairLoss> pairs;
  for (std::size_t i = 0; i < losses.size(); ++i)
    pairs.push_back({.node = "n" + std::to_string(i + 1),
                     .other_node = "n" + std::to_string((i + 1) % losses.size() + 1),
                     .other_changed = true,
                     .loss = losses[i]});
  return pairs;
}

TEST(PairBlame, TheEndWhoseOtherPairsLostAsWellIsIt) {
  const auto pairs = ring({0, 0.1, 0.1, 0, 0});  // n3 is in the second and the third
  EXPECT_EQ(blamed_end(pairs, 1), End::kOther);
  EXPECT_EQ(blamed_end(pairs, 2), End::kFirst);
}

TEST(PairBlame, APathOrTwoSlowEndsAreNeitherAlone) {
  EXPECT_EQ(blamed_end(ring({0, 0.1, 0, 0}), 1), End::kEither) << "a path";
  EXPECT_EQ(blamed_end(ring({0.1, 0.1, 0.1, 0}), 1), End::kEither) << "both ends";
  EXPECT_EQ(blamed_end(ring({0.1, 0.1}), 0), End::kEither) << "nothing else tells";
}

TEST(PairBlame, AnEndThatDidNotChangeIsNotBlamed) {
  auto pairs = ring({0, 0.1, 0.1, 0, 0});
  pairs[1].other_changed = false;
  EXPECT_EQ(blamed_end(pairs, 1), End::kFirst);
}

// All nodes of a ring were upgraded; n3 alone got slow.
MetricVerdict judged_ring(std::size_t nodes, double loss) {
  Chance chance(5);
  UpgradeRuns upgrade{.id = "u", .metrics = {}, .functions = {}};
  MetricRuns metric{.name = "lat", .traits = traits_of("ns", false, "median"), .pairs = {}};
  for (std::size_t i = 1; i <= nodes; ++i) {
    PairRuns pair{.node = "n" + std::to_string(i),
                  .endpoint = "rxe0:1",
                  .changed = true,
                  .before = {},
                  .after = {},
                  .other_node = "n" + std::to_string(i % nodes + 1),
                  .other_endpoint = "rxe0:1",
                  .other_changed = true};
    const bool is_slow = i == 2 || i == 3;
    for (int run = 0; run < 5; ++run) {
      pair.before.push_back(1000 * (1 + 0.001 * chance.normal()));
      pair.after.push_back(1000 * (1 + 0.001 * chance.normal()) * (is_slow ? 1 + loss : 1));
    }
    metric.pairs.push_back(std::move(pair));
  }
  return judge_metric(metric, upgrade);
}

TEST(PairBlame, TheVerdictNamesTheSlowNodeAndNotItsPartner) {
  const MetricVerdict verdict = judged_ring(24, 0.2);
  ASSERT_EQ(verdict.flags.size(), 2U);
  for (const PairFlag& flag : verdict.flags) {
    EXPECT_EQ(flag.node, "n3");
    EXPECT_EQ(flag.other_node, "") << "the partner is well";
  }
  EXPECT_THAT(verdict.far,
              UnorderedElementsAre("n2/rxe0:1 with n3/rxe0:1", "n3/rxe0:1 with n4/rxe0:1", "n3"));
  EXPECT_THAT(verdict.far, Not(testing::Contains("n2")));
}

}  // namespace
}  // namespace railgauge::analysis

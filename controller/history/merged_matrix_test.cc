#include "controller/history/merged_matrix.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;

constexpr double kDay = 86'400;
constexpr double kNewest = 1.8e9;

api::PairMatrix matrix_of(const std::string& run, const std::vector<std::string>& nodes,
                          const std::vector<float>& values) {
  api::PairMatrix matrix;
  matrix.set_run_id(run);
  matrix.set_kernel("verbs.write_bw");
  for (const std::string& node : nodes) {
    matrix.add_nodes(node);
    matrix.add_leaves("leaf of " + node);
  }
  for (const float value : values) matrix.add_values(value);
  return matrix;
}

TEST(MergedMatrix, ACellHasTheNewestFigureAndItsRun) {
  MergedMatrix merged(matrix_of("r3", {"a", "b"}, {0, 3, 0, 0}), kNewest);
  EXPECT_TRUE(merged.add(matrix_of("r2", {"a", "b"}, {0, 2, 0, 0}), kNewest - kDay));
  EXPECT_TRUE(merged.add(matrix_of("r1", {"a", "b"}, {0, 1, 1, 0}), kNewest - 2 * kDay));
  const api::PairMatrix matrix = std::move(merged).matrix();
  EXPECT_THAT(matrix.values(), ElementsAre(0, 3, 1, 0));
  EXPECT_THAT(matrix.run_of(), ElementsAre(0, 0, 2, 0));
  ASSERT_EQ(matrix.runs_size(), 3);
  EXPECT_EQ(matrix.run_id(), "r3");
  EXPECT_EQ(matrix.runs(2).run_id(), "r1");
  EXPECT_EQ(matrix.runs(2).age_days(), 2);
  EXPECT_EQ(matrix.runs(0).age_days(), 0);
}

// c was away in the newest night, a in the one before.
TEST(MergedMatrix, NodesThatAreMissingInOneRunComeFromAnother) {
  MergedMatrix merged(matrix_of("r2", {"a", "b"}, {0, 5, 6, 0}), kNewest);
  EXPECT_TRUE(merged.add(matrix_of("r1", {"c", "b"}, {0, 7, 8, 0}), kNewest - kDay));
  const api::PairMatrix matrix = std::move(merged).matrix();
  EXPECT_THAT(matrix.nodes(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(matrix.leaves(), ElementsAre("leaf of a", "leaf of b", "leaf of c"));
  EXPECT_THAT(matrix.values(), ElementsAre(0, 5, 0, 6, 0, 8, 0, 7, 0));
  EXPECT_THAT(matrix.run_of(), ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 0));
}

TEST(MergedMatrix, AnotherSeriesOrRailIsNotMerged) {
  MergedMatrix merged(matrix_of("r2", {"a", "b"}, {0, 5, 0, 0}), kNewest);
  api::PairMatrix other = matrix_of("r1", {"a", "b"}, {0, 0, 9, 0});
  other.set_rail(1);
  EXPECT_FALSE(merged.add(other, kNewest - kDay));
  other.set_rail(0);
  other.set_message_bytes(8);
  EXPECT_FALSE(merged.add(other, kNewest - kDay));
  const api::PairMatrix matrix = std::move(merged).matrix();
  EXPECT_THAT(matrix.values(), ElementsAre(0, 5, 0, 0));
  EXPECT_EQ(matrix.runs_size(), 1);
}

}  // namespace
}  // namespace railgauge

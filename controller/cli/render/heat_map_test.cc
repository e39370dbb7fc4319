#include "controller/cli/render/heat_map.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "controller/cli/testing/commands_testing.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

railgauge::api::PairMatrix matrix_of(int nodes, bool larger_is_better = true) {
  railgauge::api::PairMatrix matrix;
  matrix.set_larger_is_better(larger_is_better);
  for (int node = 0; node < nodes; ++node) {
    matrix.add_nodes("n" + std::to_string(1000 + node));
    matrix.add_leaves("");
  }
  for (int i = 0; i < nodes * nodes; ++i) matrix.add_values(100);
  return matrix;
}

TEST(HeatMap, JudgesByTheDirectionThatIsBetter) {
  auto matrix = matrix_of(4);
  matrix.set_values(1, 60);
  EXPECT_EQ(grid_of(matrix).heat(0, 1), Heat::kWorst);
  EXPECT_EQ(grid_of(matrix).heat(0, 2), Heat::kUsual);
  matrix.set_larger_is_better(false);
  EXPECT_EQ(grid_of(matrix).heat(0, 1), Heat::kBetter);
}

TEST(HeatMap, ExpectsOfAPairWhatItsClassGives) {
  auto matrix = matrix_of(6);
  for (int node = 0; node < 6; ++node) matrix.set_leaves(node, node % 2 == 0 ? "a" : "b");
  for (int from = 0; from < 6; ++from)
    for (int to = 0; to < 6; ++to)
      if (from % 2 != to % 2) matrix.set_values(from * 6 + to, 50);
  const HeatGrid grid = grid_of(matrix);
  EXPECT_THAT(grid.nodes,
              testing::ElementsAre("n1000", "n1002", "n1004", "n1001", "n1003", "n1005"));
  for (std::size_t from = 0; from < 6; ++from)
    for (std::size_t to = 0; to < 6; ++to)
      EXPECT_EQ(grid.heat(from, to), from == to ? Heat::kMissing : Heat::kUsual);
}

TEST(HeatMap, ShowsTheWorstOfABlockWhenThereAreManyNodes) {
  auto matrix = matrix_of(300);
  matrix.set_values(299 * 300 + 1, 10);
  const std::string text = heat_text(grid_of(matrix), false);
  EXPECT_THAT(text, HasSubstr("  @"));
  EXPECT_THAT(text, HasSubstr("the worst of 3 x 3 pairs"));
  const std::string first = text.substr(0, text.find('\n'));
  EXPECT_LE(first.size(), kMostLetters + 20);
}

TEST(HeatMap, DrawsAFileThatNamesCannotBreak) {
  auto matrix = matrix_of(3);
  matrix.set_nodes(1, "<script>&");
  const std::string svg = heat_svg(grid_of(matrix), "a < b");
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST_F(Commands, MatrixWritesAnSvgFileBesideItsOutput) {
  const std::string path =
      testing::TempDir() + "/railgauge_matrix_" + std::to_string(getpid()) + ".svg";
  EXPECT_EQ(run({"runs", "matrix", "r1", "--svg", path}), 0) << err_;
  std::ifstream file(path);
  std::stringstream svg;
  svg << file.rdbuf();
  EXPECT_THAT(svg.str(), testing::StartsWith("<svg "));
  EXPECT_THAT(svg.str(), HasSubstr("SYNTHETIC"));
  EXPECT_THAT(err_, HasSubstr("there is also rail 0 gpu"));
  std::remove(path.c_str());
  EXPECT_NE(run({"runs", "matrix", "r1", "--svg", "/nowhere/at/all.svg"}), 0);
  EXPECT_THAT(err_, HasSubstr("--svg /nowhere/at/all.svg: write"));
}

TEST_F(Commands, SuspectsEndWithTheAnswer) {
  EXPECT_EQ(run({"runs", "suspects"}), 1) << "one is confirmed";
  archive_.suspects.mutable_suspects()->DeleteSubrange(0, 1);
  EXPECT_EQ(run({"runs", "suspects"}), 3) << "one is to be measured again";
  archive_.suspects.clear_suspects();
  EXPECT_EQ(run({"runs", "suspects"}), 3) << "a node was never measured";
  archive_.suspects.clear_unmeasured_nodes();
  EXPECT_EQ(run({"runs", "suspects"}), 0);
  EXPECT_THAT(out_, HasSubstr("no suspect"));
}

}  // namespace
}  // namespace railgauge::cli

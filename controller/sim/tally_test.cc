// Pieces of the detection table give the whole table, and nothing else.
#include "controller/sim/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::simulator {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Cell kCable{.nodes = 32, .kind = FaultKind::kCable, .takes_percent = 10};

// So many seeds of a small fabric's trial, as a file.
std::string piece(const Cell& cell, std::uint64_t first, std::uint64_t last, Figures& figures) {
  std::string text = csv_header();
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Score score = score_of(trial_of(cell), seed, figures);
    text += csv_line(cell, seed, {.right = score.right == 1, .wrong = score.wrong == 1}, "c");
  }
  return text;
}

Tally merged(std::initializer_list<std::string_view> texts) {
  Tally tally;
  std::string code;
  for (const std::string_view text : texts) {
    const Status read = read_csv(text, "piece.csv", code, tally);
    EXPECT_TRUE(read) << read.error().message;
  }
  return tally;
}

std::string refused(std::initializer_list<std::string> lines) {
  std::string text = csv_header();
  for (const std::string& line : lines) text += line;
  Tally tally;
  std::string code;
  const Status read = read_csv(text, "piece.csv", code, tally);
  return read ? "" : read.error().message;
}

TEST(Tally, OfPiecesIsThatOfTheWhole) {
  Figures figures;
  Cell weak = kCable;
  weak.takes_percent = 3;
  Cell quick = kCable;
  quick.quick_rounds = 4;
  const Tally whole = merged(
      {piece(kCable, 1, 8, figures), piece(weak, 1, 8, figures), piece(quick, 1, 8, figures)});
  // Other order, other cuts, other neighbours in memory, one seed run twice.
  const Tally parts = merged({piece(quick, 3, 8, figures), piece(kCable, 5, 8, figures),
                              piece(weak, 4, 8, figures), piece(kCable, 1, 5, figures),
                              piece(weak, 1, 3, figures), piece(quick, 1, 2, figures)});
  EXPECT_EQ(table_of(parts), table_of(whole));
  EXPECT_EQ(whole.score(kCable).runs, 8u);
  EXPECT_EQ(whole.score(kCable).right, parts.score(kCable).right);
  EXPECT_THAT(table_of(whole), HasSubstr("| 32 | 2 | all pairs | cable | 10 % | 8 |"));
  EXPECT_THAT(table_of(whole), HasSubstr("| 32 | 2 | quick scan, 4 rounds | cable | 10 % | 8 |"));
  EXPECT_THAT(table_of(whole), HasSubstr("SYNTHETIC"));
}

TEST(Tally, SaysHowManySeedsAndWhatWasNotRun) {
  Tally tally;
  Cell weak = kCable;
  weak.takes_percent = 3;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    ASSERT_TRUE(tally.add(kCable, seed, {.right = seed != 2}));
  ASSERT_TRUE(tally.add(weak, 1, {.right = true}));
  ASSERT_TRUE(tally.add({.nodes = 32, .kind = FaultKind::kLeaf, .takes_percent = 3}, 1, {}));
  EXPECT_THAT(table_of(tally), HasSubstr("| cable | 10 % | 1 to 4 | 75.0 | 0.0 | 100.0 |"));
  EXPECT_THAT(table_of(tally), HasSubstr("| leaf | 10 % | 1 | - | - | 0.0 |"));
  EXPECT_TRUE(tally.has(weak, 1));
  EXPECT_FALSE(tally.has(weak, 2));
}

TEST(Tally, RefusesWhatDoesNotBelongTogether) {
  const std::string one = csv_line(kCable, 7, {.right = true}, "c");
  EXPECT_EQ(refused({one, one}), "") << "the same trial twice counts once";
  EXPECT_THAT(refused({one, csv_line(kCable, 7, {.right = false}, "c")}),
              HasSubstr("piece.csv line 3: add up: 32 nodes, cable, 10 %, seed 7"));
  EXPECT_THAT(refused({one, csv_line(kCable, 8, {.right = true}, "d")}),
              HasSubstr("line 3: add up: made by code d, the others by c"));
  EXPECT_THAT(refused({"1,c,32,2,0,cable,10,seven,1,0\n"}), HasSubstr("line 2: read: seed"));
  EXPECT_THAT(refused({"1,c,32,2,0,gremlin,10,7,1,0\n"}), HasSubstr("line 2: read: fault"));
  EXPECT_THAT(refused({"1,c,32,2,0,cable,10,7,2,0\n"}), HasSubstr("line 2: read: right"));
  EXPECT_THAT(refused({"0,c,32,2,0,cable,10,7,1,0\n"}), HasSubstr("line 2: read: synthetic"));
  EXPECT_THAT(refused({"1,c,32\n"}), HasSubstr("count of columns"));
  Tally tally;
  std::string code;
  EXPECT_FALSE(read_csv("", "empty.csv", code, tally));
  EXPECT_FALSE(read_csv("nodes\n", "other.csv", code, tally));
}

TEST(Tally, LeavesOutALineThatWasCutOff) {
  const std::string text = csv_header() + csv_line(kCable, 1, {.right = true}, "c");
  const std::string next = csv_line(kCable, 2, {.right = true}, "c");
  for (std::size_t cut = 0; cut < next.size(); ++cut)
    EXPECT_EQ(merged({text + next.substr(0, cut)}).score(kCable).runs, 1u) << cut;
  EXPECT_EQ(merged({text + next}).score(kCable).runs, 2u);
}

TEST(Tally, NamesWhatIsBelowTheBar) {
  Tally tally;
  const Cell healthy{.nodes = 64};
  Cell quick = kCable;
  quick.quick_rounds = 4;
  Cell weak = kCable;
  weak.takes_percent = 3;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_TRUE(tally.add(kCable, seed, {.right = seed > 10}));  // 95 % to the seed
    ASSERT_TRUE(tally.add(healthy, seed, {.right = seed > 1, .wrong = seed <= 1}));
    ASSERT_TRUE(tally.add(quick, seed, {}));
    ASSERT_TRUE(tally.add(weak, seed, {}));
  }
  EXPECT_THAT(below_bar(tally), IsEmpty()) << "neither the curve nor the quick scan is judged";
  ASSERT_TRUE(tally.add(kCable, 201, {.right = false}));
  ASSERT_TRUE(tally.add(healthy, 201, {.right = false, .wrong = true}));
  ASSERT_TRUE(tally.add(healthy, 202, {.right = false, .wrong = true}));
  const auto lines = below_bar(tally);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("32 nodes, cable, 10 %: 190 of 201 right"));
  EXPECT_THAT(lines[1], HasSubstr("64 nodes, none, 0 %: 3 of 202 accuse somebody"));
}

TEST(Tally, NamesTheSameCodeTheSame) {
  EXPECT_EQ(code_name(), code_name());
  EXPECT_EQ(code_name().size(), 16u);
}

}  // namespace
}  // namespace railgauge::simulator

#include "kernels/core/text/fold.h"

#include <array>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using Names = std::vector<std::string>;

// Reads one item of a folded list back, written apart from the product.
void unfold_item(const std::string& item, const std::string& so_far, std::set<std::string>& out) {
  const std::size_t open = item.find('[');
  if (open == std::string::npos) {
    out.insert(so_far + item);
    return;
  }
  const std::size_t close = item.find(']', open);
  const std::string head = so_far + item.substr(0, open);
  const std::string rest = item.substr(close + 1);
  std::string list = item.substr(open + 1, close - open - 1) + ",";
  for (std::size_t comma = 0; (comma = list.find(',')) != std::string::npos;
       list = list.substr(comma + 1)) {
    const std::string range = list.substr(0, comma);
    const std::string low = range.substr(0, range.find('-'));
    const std::string high =
        range.substr(range.find('-') == std::string::npos ? 0 : low.size() + 1);
    const std::size_t width = low.size() == high.size() ? low.size() : 0;
    for (unsigned long n = std::stoul(low); n <= std::stoul(high); ++n)
      unfold_item(rest, head + fmt::format("{:0{}}", n, width), out);
  }
}

std::set<std::string> unfold(const std::string& text) {
  std::set<std::string> names;
  std::string item;
  bool inside = false;
  for (const char c : text + ",") {
    inside = c == '[' || (inside && c != ']');
    if (c != ',' || inside) {
      item += c;
      continue;
    }
    if (!item.empty()) unfold_item(item, "", names);
    item.clear();
  }
  return names;
}

std::string folded(const Names& names) { return fold_names(names); }

TEST(FoldNames, WritesRangesAsHostlistsDo) {
  EXPECT_EQ(folded({}), "");
  EXPECT_EQ(folded({"head"}), "head");
  EXPECT_EQ(folded({"gpu003", "gpu001", "gpu002", "gpu007", "head"}), "gpu[001-003,007],head");
  EXPECT_EQ(folded({"n2", "n10", "n1", "n9"}), "n[1-2,9-10]");
  EXPECT_EQ(folded({"n1", "n1"}), "n1") << "each name counts once";
}

TEST(FoldNames, KeepsLeadingZeros) {
  EXPECT_EQ(folded({"n099", "n100", "n101"}), "n[099-101]");
  EXPECT_EQ(folded({"n08", "n8"}), "n08,n8");
  EXPECT_EQ(folded({"n98", "n99", "n100"}), "n[98-100]");
}

TEST(FoldNames, FoldsEveryNumberOfAName) {
  Names endpoints;
  for (int node = 1; node <= 512; ++node)
    for (int device = 0; device < 8; ++device)
      endpoints.push_back(fmt::format("gpu{:03}/mlx5_{}:1", node, device));
  EXPECT_EQ(folded(endpoints), "gpu[001-512]/mlx5_[0-7]:1");
  endpoints.pop_back();
  EXPECT_EQ(folded(endpoints), "gpu[001-511]/mlx5_[0-7]:1,gpu512/mlx5_[0-6]:1");
}

TEST(FoldNames, LeavesAloneWhatItCouldNotWriteUnambiguously) {
  EXPECT_EQ(folded({"a[1]", "a[2]"}), "a[1],a[2]");
  EXPECT_EQ(folded({"x1234567890", "x1234567891"}), "x1234567890,x1234567891");
  EXPECT_EQ(folded({"1.2.3.4.5.6.7.8.9", "1.2.3.4.5.6.7.8.10"}), "1.2.3.4.5.6.7.8.[9-10]");
}

TEST(FoldNames, ReadBackTheyAreTheSameNames) {
  std::mt19937 random(7);
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  for (int round = 0; round < 400; ++round) {
    std::set<std::string> names;
    const unsigned count = 1 + below(40);
    for (unsigned i = 0; i < count; ++i) {
      const char* const stem = std::array{"n", "rack", "gpu-", "x.y"}.at(below(4));
      const unsigned width = below(4);
      std::string name = fmt::format("{}{:0{}}", stem, below(120), width);
      if (below(3) == 0) name += fmt::format("u{}", below(3));
      if (below(9) == 0) name = "head";
      names.insert(name);
    }
    const std::string text = folded(Names(names.begin(), names.end()));
    EXPECT_EQ(unfold(text), names) << text;
    const std::set<std::string> again = unfold(text);
    EXPECT_EQ(folded(Names(again.begin(), again.end())), text);
  }
}

Names texts_of(const std::vector<TextGroup>& groups) {
  Names texts;
  for (const TextGroup& group : groups) texts.push_back(group.text);
  return texts;
}

TEST(GroupTexts, GroupsWhatDiffersInNamesAndNumbersAlone) {
  Names reasons;
  for (int node = 1; node <= 4; ++node)
    for (int rank = 0; rank < 2; ++rank)
      reasons.push_back(
          fmt::format("gpu{:03} rank {}: numa=near: the cpuset lacks node {}", node, rank, rank));
  reasons.emplace_back("gpu009/mlx5_0:1: the link is down");
  const auto groups = group_texts(reasons);
  EXPECT_THAT(texts_of(groups),
              ElementsAre("gpu[001-004] rank [0-1]: numa=near: the cpuset lacks node [0-1]",
                          "gpu009/mlx5_0:1: the link is down"));
  EXPECT_EQ(groups[0].members.size(), 8U);
  EXPECT_THAT(groups[1].members, ElementsAre(8U));
}

TEST(GroupTexts, SaysASentenceOnceThatATextRepeats) {
  const std::vector<std::string> texts{
      "rank 0 on n1: wrong bytes at offset 8; rank 1 on n9: wrong bytes at offset 8",
      "rank 1 on n9: wrong bytes at offset 8", "rank 0 on n2: late; rank 1 on n9: wrong"};
  const auto groups = group_texts(texts);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].text, "rank [0-1] on n[1,9]: wrong bytes at offset 8");
  EXPECT_EQ(groups[0].members.size(), 2u);
  EXPECT_EQ(groups[1].text, "rank 0 on n2: late; rank 1 on n9: wrong");
}

TEST(GroupTexts, GivesTheRangeOfDecimals) {
  EXPECT_THAT(texts_of(group_texts(Names{"n1: 9.5 GB/s", "n2: 10.25 GB/s", "n3: 11 GB/s"})),
              ElementsAre("n[1-3]: 9.5..11 GB/s"));
}

TEST(GroupTexts, KnowsNamesWithoutDigits) {
  const Names reasons{"alpha: busy", "beta/mlx5_0: busy", "gamma: busy"};
  EXPECT_EQ(group_texts(reasons).size(), 3U);
  EXPECT_THAT(texts_of(group_texts(reasons, Names{"alpha", "beta"})),
              ElementsAre("alpha,beta/mlx5_0: busy", "gamma: busy"));
}

TEST(GroupTexts, ShortensAWordOfManyValues) {
  Names reasons;
  for (int i = 0; i < 40; ++i) reasons.push_back(fmt::format("task t{} is late", i * i * 7));
  EXPECT_THAT(texts_of(group_texts(reasons)), ElementsAre("task t0..t10647 (40) is late"));
}

TEST(GroupTexts, KeepsTextsWithBytesOfItsOwnMark) {
  EXPECT_THAT(texts_of(group_texts(Names{"a\x01"
                                         "b 1",
                                         "a\x01"
                                         "b 2"})),
              ElementsAre("a b [1-2]"));
  EXPECT_THAT(group_texts(Names{}), testing::IsEmpty());
}

}  // namespace
}  // namespace railgauge

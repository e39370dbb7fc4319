#include "controller/plan/topology/node_set.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/text/fold.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kKnown{"gpu001", "gpu002", "gpu003", "gpu010", "login"};

std::vector<std::string> selected(std::string_view text) {
  auto nodes = select_nodes(text, kKnown);
  EXPECT_TRUE(nodes) << nodes.error().message;
  return nodes.value_or(std::vector<std::string>{});
}

std::string refused(std::string_view text) {
  const auto nodes = select_nodes(text, kKnown);
  EXPECT_FALSE(nodes) << "accepted: " << text;
  if (nodes) return "";
  EXPECT_EQ(nodes.error().code, Code::kInvalidArgument);
  EXPECT_EQ(nodes.error().message.find('\n'), std::string::npos);
  EXPECT_LT(nodes.error().message.size(), 400u);
  return nodes.error().message;
}

TEST(NodeSet, EmptyTextSelectsAllInTheOrderKnown) {
  EXPECT_EQ(selected(""), kKnown);
  EXPECT_EQ(selected("  "), kKnown);
}

TEST(NodeSet, RangesKeepTheirLeadingZeros) {
  EXPECT_THAT(selected("gpu[001-003,010]"), ElementsAre("gpu001", "gpu002", "gpu003", "gpu010"));
  const auto set = parse_node_set("n[8-11]");
  ASSERT_TRUE(set);
  EXPECT_THAT(set->included.front().names, ElementsAre("n8", "n9", "n10", "n11"));
}

TEST(NodeSet, SeveralBracketsMultiply) {
  const auto set = parse_node_set("rack[1-2]n[01-02].local");
  ASSERT_TRUE(set);
  EXPECT_THAT(set->included.front().names,
              ElementsAre("rack1n01.local", "rack1n02.local", "rack2n01.local", "rack2n02.local"));
}

TEST(NodeSet, KeepsTheWrittenOrderWithoutDuplicates) {
  EXPECT_THAT(selected("login, gpu002,gpu[001-003]"),
              ElementsAre("login", "gpu002", "gpu001", "gpu003"));
}

TEST(NodeSet, AnExclusionWinsWhereverItStands) {
  EXPECT_THAT(selected("!gpu002,gpu[001-003]"), ElementsAre("gpu001", "gpu003"));
  EXPECT_THAT(selected("gpu[001-003],!gpu[002-003]"), ElementsAre("gpu001"));
  EXPECT_THAT(selected("!login"), ElementsAre("gpu001", "gpu002", "gpu003", "gpu010"));
  EXPECT_THAT(selected("!gpu[001-064]"), ElementsAre("login")) << "a range may reach beyond";
}

TEST(NodeSet, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(refused("gpu004"), HasSubstr("gpu004: unknown node; did you mean \"gpu00"));
  EXPECT_THAT(refused("gpu[001-064]"), HasSubstr("and 55 more: unknown nodes"));
  // refused() checks that no blank inside of brackets breaks the line, and that it stays short.
  EXPECT_THAT(refused("gpu[7,\n8]"), HasSubstr("\"gpu[7,\\n8]\": gpu7, gpu8: unknown nodes"));
  refused("gpu[7," + std::string(5'000, ' ') + "8]");
  EXPECT_THAT(refused("gpu001,!gpuu002"),
              HasSubstr("gpuu002: unknown node; did you mean \"gpu002\"?"));
}

TEST(NodeSet, SaysWhenNothingIsLeft) {
  EXPECT_THAT(refused("gpu001,!gpu001"), HasSubstr("nothing is left"));
  const auto none = select_nodes("", std::vector<std::string>{});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no node is known"));
}

TEST(NodeSet, RefusesWhatItCannotReadAndSaysWhatIsAllowed) {
  EXPECT_THAT(refused("gpu[001-"), HasSubstr("not closed"));
  EXPECT_THAT(refused("gpu[]"), HasSubstr("numbers and ranges"));
  EXPECT_THAT(refused("gpu[a-b]"), HasSubstr("numbers and ranges"));
  EXPECT_THAT(refused("gpu[3-1]"), HasSubstr("must rise"));
  EXPECT_THAT(refused("gpu[01-003]"), HasSubstr("same number of digits"));
  EXPECT_THAT(refused("gpu001,,gpu002"), HasSubstr("empty name"));
  EXPECT_THAT(refused("!"), HasSubstr("empty name"));
  EXPECT_THAT(refused("gpu001 gpu002"), HasSubstr("0x20"));
  EXPECT_THAT(refused("gpu001]"), HasSubstr("0x5d"));
  EXPECT_THAT(refused("@rack7"), HasSubstr("labels choose among nodes that a controller knows"));
  EXPECT_THAT(refused("rack=7"), HasSubstr("labels choose among nodes"));
  EXPECT_THAT(refused("gpu001&rack=7"), HasSubstr("labels choose among nodes"));
}

KnownNodes labelled() {
  return {.names = kKnown,
          .labels = {{"gpu001", {{"rack", "r1"}, {"pod", "p1"}}},
                     {"gpu002", {{"rack", "r1"}, {"pod", "p2"}}},
                     {"gpu003", {{"rack", "r2"}, {"pod", "p2"}}}},
          .groups = {{"gold", "gpu[001-003],!rack=r2"}, {"r2", "login"}, {"lost", "gpu999"}}};
}

std::vector<std::string> labelled_nodes(std::string_view text) {
  auto nodes = select_nodes(text, labelled());
  EXPECT_TRUE(nodes) << nodes.error().message;
  return nodes.value_or(std::vector<std::string>{});
}

std::string labelled_refusal(std::string_view text) {
  const auto nodes = select_nodes(text, labelled());
  return nodes ? "accepted" : nodes.error().message;
}

TEST(NodeSet, LabelsChooseAmongKnownNodes) {
  EXPECT_THAT(labelled_nodes("rack=r1"), ElementsAre("gpu001", "gpu002"));
  EXPECT_THAT(labelled_nodes("RACK=r2,login"), ElementsAre("gpu003", "login"));
  EXPECT_THAT(labelled_nodes("!pod=p2"), ElementsAre("gpu001", "gpu010", "login"));
  EXPECT_THAT(labelled_nodes("gpu[001-003],!rack=r1"), ElementsAre("gpu003"));
}

TEST(NodeSet, LabelsAfterTheSetHoldForEachNode) {
  EXPECT_THAT(labelled_nodes("&rack=r1"), ElementsAre("gpu001", "gpu002"));
  EXPECT_THAT(labelled_nodes("&rack=r1,pod=p2"), ElementsAre("gpu002"));
  EXPECT_THAT(labelled_nodes(with_labels("gpu[002-003],login", "pod=p2")),
              ElementsAre("gpu002", "gpu003"));
  EXPECT_EQ(with_labels("gpu001", ""), "gpu001");
  EXPECT_EQ(with_labels("gpu001&a=b", "c=d"), "gpu001&a=b,c=d");
  EXPECT_THAT(labelled_refusal("&rack=r2,pod=p1"), HasSubstr("nothing is left"));
  EXPECT_THAT(labelled_refusal("gpu001&"), HasSubstr("no label follows"));
}

TEST(NodeSet, AGroupIsANameOfTheSiteOrAnyLabelsValue) {
  EXPECT_THAT(labelled_nodes("@r1"), ElementsAre("gpu001", "gpu002"));
  EXPECT_THAT(labelled_nodes("@gold,!gpu001"), ElementsAre("gpu002"));
  EXPECT_THAT(labelled_nodes("@r2"), ElementsAre("login")) << "the site's name comes first";
  EXPECT_THAT(labelled_nodes("!@p2"), ElementsAre("gpu001", "gpu010", "login"));
}

TEST(NodeSet, AnUnknownLabelNamesTheClosestOne) {
  EXPECT_EQ(labelled_refusal("rak=r1"),
            "node set: \"rak=r1\": no node has a label \"rak\"; did you mean \"rack\"?");
  EXPECT_THAT(labelled_refusal("pod=p11"),
              HasSubstr("no node has this value of \"pod\"; did you mean \"p1\"?"));
  EXPECT_THAT(labelled_refusal("@glod"), HasSubstr("did you mean \"gold\"?"));
  EXPECT_THAT(labelled_refusal("gpu001&rak=r1"), HasSubstr("did you mean \"rack\"?"));
  EXPECT_THAT(labelled_refusal("@lost"), HasSubstr("the group's nodes: node set: gpu999"));
  EXPECT_THAT(labelled_refusal("rack=r 1"), HasSubstr("a value is"));
}

TEST(NodeSet, AWordLikeNoneNamesWhatThereIs) {
  EXPECT_THAT(labelled_refusal("@zzzzzz"), HasSubstr("no group, and no label's value; known: "));
  EXPECT_THAT(labelled_refusal("colour=red"), HasSubstr("known: pod, rack"));
  EXPECT_THAT(labelled_refusal("zzzzzz"), HasSubstr("unknown node; known: gpu["));
  KnownNodes bare{.names = {"n1"}};
  EXPECT_THAT(select_nodes("@r1", bare).error().message, HasSubstr("no node has a label"));
}

TEST(NodeSet, AnAtAloneAsksForTheGroups) {
  EXPECT_EQ(labelled_refusal("@"),
            "node set: \"@\": a label's value follows, or a group: @gold, @lost, @r2");
  KnownNodes bare{.names = {"n1"}};
  EXPECT_THAT(select_nodes("@", bare).error().message,
              HasSubstr("the site profile names no group"));
}

// An item of two characters may name all nodes of a site.
TEST(NodeSet, LabelsAndGroupsAreBoundedAsNamesAre) {
  KnownNodes known;
  for (int i = 0; i < 256; ++i) {
    known.names.push_back(fmt::format("n{:03}", i));
    known.labels[known.names.back()] = {{"pod", "a"}};
  }
  const auto repeated = [](std::string_view item, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", item);
    return text;
  };
  EXPECT_THAT(select_nodes(repeated("@a", 65), known).error().message,
              HasSubstr("more than 16384 nodes"));
  EXPECT_THAT(select_nodes(repeated("!pod=a", 65), known).error().message,
              HasSubstr("more than 16384 nodes"));
  EXPECT_EQ(select_nodes(repeated("@a", 64), known)->size(), 256U);
  known.names.resize(1);
  known.labels.erase(std::next(known.labels.begin()), known.labels.end());
  EXPECT_TRUE(select_nodes(repeated("@a", 256), known));
  EXPECT_THAT(select_nodes(repeated("@a", 257), known).error().message,
              HasSubstr("more than 256 labels and groups"));
}

TEST(NodeSet, ExpansionIsBounded) {
  EXPECT_THAT(refused("gpu[0-999999999]"), HasSubstr("more than 16384 nodes"));
  EXPECT_THAT(refused("a[0-9999]b[0-9999]c[0-9999]"), HasSubstr("more than 16384 nodes"));
  EXPECT_THAT(refused("a[0-9999],b[0-9999]"), HasSubstr("more than 16384 nodes"));
  EXPECT_THAT(refused("a[1-16384],b"), HasSubstr("more than 16384 nodes"));
  EXPECT_TRUE(parse_node_set("a[1-16384]"));
  EXPECT_THAT(refused("a[1][1][1][1][1][1][1][1][1]"), HasSubstr("more than 8 brackets"));
  EXPECT_THAT(refused(std::string(300, 'a')), HasSubstr("at most 253"));
  // Digits of a bracket count too, also when the bracket ends the name or the range gets longer.
  EXPECT_TRUE(parse_node_set(std::string(250, 'a') + "[001-856]"));
  EXPECT_THAT(refused(std::string(251, 'a') + "[001-856]"), HasSubstr("at most 253"));
  EXPECT_THAT(refused(std::string(251, 'a') + "[9-10]b"), HasSubstr("at most 253"));
  EXPECT_THAT(refused(std::string(kMaxNodeSetBytes + 1, 'a')), HasSubstr("bytes of text"));
}

TEST(NodeSet, ReadsFoldedNamesBack) {
  std::mt19937 random(93);
  const auto below = [&](unsigned most) { return static_cast<unsigned>(random() % most); };
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> names;
    for (unsigned i = 0; i <= below(60); ++i)
      names.insert(fmt::format("{}{:0{}}{}", below(2) == 0 ? "gpu" : "rack-", below(300), below(4),
                               below(3) == 0 ? fmt::format("n{}", below(4)) : ""));
    const std::vector<std::string> list(names.begin(), names.end());
    const std::string text = fold_names(list);
    const auto set = parse_node_set(text);
    ASSERT_TRUE(set) << text << ": " << set.error().message;
    std::set<std::string> read;
    for (const auto& item : set->included) read.insert(item.names.begin(), item.names.end());
    EXPECT_EQ(read, names) << text;
    EXPECT_EQ(fold_names(std::vector<std::string>(read.begin(), read.end())), text);
  }
}

TEST(NodeSet, AnyBytesGiveNamesOrOneLine) {
  std::mt19937 random(20'241);
  constexpr std::string_view kAlphabet = "gpu01[]-,!@=. \x01\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 24, ' ');
    for (char& c : text) c = kAlphabet[random() % kAlphabet.size()];
    const auto set = parse_node_set(text);
    if (set) continue;
    ASSERT_EQ(set.error().code, Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace railgauge::plan

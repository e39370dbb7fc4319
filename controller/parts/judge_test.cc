#include "controller/parts/judge.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/parts/tables.h"
#include "controller/sim/nights.h"

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;
using simulator::NoiseFamily;
using simulator::Site;
using simulator::SiteFault;
using simulator::SiteSpec;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr SiteSpec kSite{.nodes = 64, .rails = 2, .nodes_per_leaf = 8, .slices = 7};

// The nights of a site: some healthy ones, then some with faults.
std::vector<Levels> nights_of(const SiteSpec& spec, std::uint32_t healthy,
                              const std::vector<SiteFault>& faults, std::uint32_t bad) {
  Site site(spec);
  std::vector<Levels> nights;
  for (std::uint32_t night = 0; night < healthy + bad; ++night)
    nights.push_back(levels_of(site.night(night, faults, healthy)).value());
  return nights;
}

Judgement judge(const std::vector<Levels>& nights) {
  std::vector<const Levels*> pointers;
  for (const Levels& night : nights) pointers.push_back(&night);
  return judge_parts(pointers);
}

std::vector<PartFinding> confirmed(const Judgement& judgement) {
  std::vector<PartFinding> found;
  for (const PartFinding& finding : judgement.findings)
    if (finding.confirmed) found.push_back(finding);
  return found;
}

// Expects that the faults, and nothing else, are found on each of three sites.
void expect_named(const std::vector<SiteFault>& faults, std::uint32_t bad,
                  std::uint32_t healthy = 10) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    SiteSpec spec = kSite;
    spec.seed = seed;
    const std::vector<PartFinding> found = confirmed(judge(nights_of(spec, healthy, faults, bad)));
    ASSERT_THAT(found, SizeIs(faults.size()));
    for (const SiteFault& fault : faults)
      EXPECT_TRUE(std::ranges::any_of(found, [&](const PartFinding& finding) {
        Element element = finding.element;
        element.intermittent = false;
        return element == fault.element && finding.low <= fault.drop &&
               fault.drop <= finding.high + 0.02;
      })) << found.front().sentence;
  }
}

const Element kPortOf9{.kind = Kind::kPort, .first = 9, .rail = 1};

TEST(PartJudge, NamesAPortAfterTwoNightsWithOtherPartners) {
  expect_named({{.element = kPortOf9, .drop = 0.1}}, 2);
}

// Rails of one trunk cross their thresholds on different nights.
TEST(PartJudge, NamesAWholeTrunkAlthoughOneRailShowsItFirst) {
  const SiteFault fault{.element = {.kind = Kind::kTrunk, .first = 0, .second = 2}, .drop = 0.05};
  std::set<std::uint64_t> named_a_rail;
  for (std::uint64_t seed = 7'001; seed <= 7'012; ++seed) {
    SiteSpec spec{.nodes = 64, .rails = 8, .nodes_per_leaf = 16, .slices = 7};
    spec.noise = 0.03;
    spec.seed = seed;
    std::vector<Levels> nights = nights_of(spec, 14, {fault}, 4);
    EXPECT_THAT(confirmed(judge(nights)), SizeIs(1)) << seed;
    for (; nights.size() > 14; nights.pop_back())
      for (const PartFinding& finding : confirmed(judge(nights)))
        if (finding.element.rail >= 0) named_a_rail.insert(seed);
  }
  EXPECT_LE(named_a_rail.size(), 1U) << "four of these when a rail alone counts";
}

// Sites on which six of 112 nights had a false finding when unknown tails counted as normal ones.
TEST(PartJudge, SkewedNoiseOfSmallSitesHasHardlyAFinding) {
  std::size_t nights_with_finding = 0;
  for (const std::uint64_t seed : {7'102U, 7'103U, 7'107U, 7'110U}) {
    SiteSpec spec{.nodes = 64, .rails = 8, .nodes_per_leaf = 16, .slices = 7};
    spec.family = NoiseFamily::kSkewed;
    spec.noise = 0.03;
    spec.seed = seed;
    for (std::vector<Levels> nights = nights_of(spec, 28, {}, 0); nights.size() > 10;
         nights.pop_back())
      nights_with_finding += confirmed(judge(nights)).empty() ? 0 : 1;
  }
  EXPECT_LE(nights_with_finding, 1U);
}

TEST(PartJudge, NamesAPortWithoutAnyPast) {
  expect_named({{.element = kPortOf9, .drop = 0.1}}, 2, 0);
}

TEST(PartJudge, NamesTheSideThatIsSlow) {
  Element element = kPortOf9;
  element.direction = Direction::kReceives;
  expect_named({{.element = element, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesAGpuWhereOnlyItsMemoryIsSlow) {
  Element element = kPortOf9;
  element.memory = "gpu";
  expect_named({{.element = element, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesANodeWhereAllItsPortsAreSlow) {
  expect_named({{.element = {.kind = Kind::kNode, .first = 9}, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesALeafAndNoneOfItsNodes) {
  expect_named({{.element = {.kind = Kind::kLeaf, .first = 3}, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesTheUplinksOfALeafThatIsFastInside) {
  expect_named({{.element = {.kind = Kind::kUplink, .first = 3}, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesTheLinksBetweenTwoLeaves) {
  expect_named({{.element = {.kind = Kind::kTrunk, .first = 1, .second = 4}, .drop = 0.1}}, 2);
}

TEST(PartJudge, NamesTwoFaultsAtOnce) {
  expect_named({{.element = kPortOf9, .drop = 0.1},
                {.element = {.kind = Kind::kLeaf, .first = 5}, .drop = 0.1}},
               2);
}

TEST(PartJudge, NamesAPortThatFlaps) {
  expect_named({{.element = kPortOf9, .drop = 0.1, .every = 3}}, 4);
}

TEST(PartJudge, NamesAPairBelowHalfOnceItIsMeasured) {
  SiteSpec spec = kSite;
  Site site(spec);
  std::uint32_t night = 0;
  while (!site.measures(night, 9, 40)) ++night;
  const SiteFault fault{.element = {.kind = Kind::kPair, .first = 9, .second = 40, .rail = 0},
                        .drop = 0.55};
  const Judgement judgement = judge(nights_of(spec, night, {fault}, 1));
  ASSERT_THAT(confirmed(judgement), SizeIs(1));
  EXPECT_EQ(confirmed(judgement).front().element, fault.element);
}

TEST(PartJudge, CallsOneBadNightACandidate) {
  const Judgement judgement = judge(nights_of(kSite, 10, {{.element = kPortOf9, .drop = 0.1}}, 1));
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_FALSE(judgement.findings.front().confirmed);
  EXPECT_THAT(judgement.findings.front().sentence, HasSubstr("measure it again"));
}

TEST(PartJudge, FindsNothingInHealthyNightsWhateverTheirNoise) {
  for (int family = 0; family < simulator::kNoiseFamilies; ++family) {
    SiteSpec spec = kSite;
    spec.family = static_cast<NoiseFamily>(family);
    spec.noise = 0.03;
    spec.seed = 5;
    std::vector<Levels> nights = nights_of(spec, 12, {}, 0);
    while (nights.size() > 1) {
      std::vector<std::string> sentences;
      for (const PartFinding& finding : confirmed(judge(nights)))
        sentences.push_back(finding.sentence);
      EXPECT_THAT(sentences, IsEmpty())
          << simulator::noise_word(spec.family) << " after " << nights.size() << " nights";
      nights.pop_back();
    }
  }
}

TEST(PartJudge, SaysWhatItCouldNotSee) {
  const Judgement judgement = judge(nights_of(kSite, 12, {}, 0));
  const auto port = std::ranges::find(judgement.power, TableId::kPort, &PartPower::id);
  ASSERT_NE(port, judgement.power.end());
  EXPECT_EQ(port->parts, 128U);
  EXPECT_GT(port->in_two_nights, 0.015);
  EXPECT_LT(port->in_two_nights, 0.06);
}

// A night in which the nodes are listed in another order, and one was not there.
TEST(PartJudge, MatchesNodesByName) {
  const std::vector<SiteFault> faults{{.element = kPortOf9, .drop = 0.1}};
  Site site(kSite);
  std::vector<Levels> nights;
  for (std::uint32_t number = 0; number < 12; ++number) {
    NightFigures night = site.night(number, faults, 10);
    if (number == 10) {
      std::ranges::reverse(night.nodes);
      const auto last = static_cast<std::uint32_t>(night.nodes.size() - 1);
      std::erase_if(night.figures,
                    [](const Figure& figure) { return figure.from == 3 || figure.to == 3; });
      for (Figure& figure : night.figures) {
        figure.from = last - figure.from;
        figure.to = last - figure.to;
      }
    }
    nights.push_back(levels_of(night).value());
  }
  const std::vector<PartFinding> found = confirmed(judge(nights));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().element, kPortOf9);
  EXPECT_THAT(found.front().sentence, HasSubstr("sim0009 rail 1"));
}

TEST(PartTables, ShowTheLossOfEachKindOfPartNightByNight) {
  const std::vector<Element> elements{
      kPortOf9,
      {.kind = Kind::kPort, .first = 9, .rail = 1, .direction = Direction::kReceives},
      {.kind = Kind::kPort, .first = 9, .rail = 1, .memory = "gpu"},
      {.kind = Kind::kNode, .first = 9},
      {.kind = Kind::kNode, .first = 9, .memory = "gpu", .direction = Direction::kSends},
      {.kind = Kind::kLeaf, .first = 3},
      {.kind = Kind::kLeaf, .first = 3, .rail = 0},
      {.kind = Kind::kTrunk, .first = 4, .second = 1}};
  for (const Element& element : elements) {
    const std::vector<Levels> nights = nights_of(kSite, 2, {{.element = element, .drop = 0.1}}, 2);
    std::vector<const Levels*> pointers;
    for (const Levels& night : nights) pointers.push_back(&night);
    const Tables tables(pointers);
    SCOPED_TRACE(part_name(nights.back(), element));
    const std::vector<Level> levels = tables.levels_over(element);
    ASSERT_THAT(levels, SizeIs(4));
    for (std::size_t night = 0; night < 4; ++night)
      EXPECT_NEAR(levels[night].loss, night < 2 ? 0 : -std::log(0.9), 0.02) << night;
  }
}

TEST(PartTables, ARailThatTheLastNightLeftOutHasNoLevels) {
  std::vector<Levels> nights = nights_of(kSite, 2, {{.element = kPortOf9, .drop = 0.1}}, 2);
  SiteSpec one_rail = kSite;
  one_rail.rails = 1;
  nights.push_back(nights_of(one_rail, 1, {}, 0).front());
  std::vector<const Levels*> pointers;
  for (const Levels& night : nights) pointers.push_back(&night);
  const Tables tables(pointers);
  EXPECT_THAT(tables.levels_over(kPortOf9), IsEmpty());
  EXPECT_THAT(tables.levels_over({.kind = Kind::kLeaf, .first = 3, .rail = 1}), IsEmpty());
  EXPECT_THAT(tables.levels_over({.kind = Kind::kPort, .first = 9, .rail = 0}), SizeIs(5));
}

TEST(PartJudge, ANameLastsWhileSideAndWayChange) {
  const PartNames names{.nodes = {"b", "a"}, .leaves = {"l1", "l0"}};
  EXPECT_EQ(lasting_name(names, {.kind = Kind::kPort,
                                 .first = 0,
                                 .rail = 2,
                                 .direction = Direction::kSends,
                                 .intermittent = true}),
            "b rail 2");
  EXPECT_EQ(lasting_name(names, {.kind = Kind::kUplink, .first = 1}),
            lasting_name(names, {.kind = Kind::kLeaf, .first = 1}));
  EXPECT_EQ(
      lasting_name(names,
                   {.kind = Kind::kTrunk, .first = 0, .second = 1, .direction = Direction::kSends}),
      "leaf l0 and leaf l1, all rails");
  EXPECT_EQ(lasting_name(names, {.kind = Kind::kPair, .first = 0, .second = 1, .rail = 3}),
            "a and b, rail 3");
}

TEST(PartJudge, OfNoNightsIsEmpty) { EXPECT_THAT(judge_parts({}).findings, IsEmpty()); }

}  // namespace
}  // namespace railgauge::parts

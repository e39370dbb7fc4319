#include "controller/parts/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/sim/nights.h"

namespace railgauge::parts {
namespace {

using simulator::Site;
using simulator::SiteFault;
using simulator::SiteSpec;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr SiteSpec kSmall{.nodes = 32, .rails = 2, .nodes_per_leaf = 8, .slices = 3, .seed = 7};

// The largest difference between levels of two nights of one shape; infinite where one is unknown.
double apart(const Levels& a, const Levels& b) {
  double most = a.ends.size() == b.ends.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.ends.size(), b.ends.size()); ++i) {
    if (a.ends[i].known() != b.ends[i].known()) return std::numeric_limits<double>::infinity();
    if (a.ends[i].known())
      most = std::max(most, std::abs(static_cast<double>(a.ends[i].loss - b.ends[i].loss)));
  }
  return most;
}

TEST(PartLevels, AreThoseOfThePartsThatAreSlow) {
  Site site(kSmall);
  const std::vector<SiteFault> faults{{.element = {.kind = localise::Kind::kPort,
                                                   .first = 5,
                                                   .rail = 1,
                                                   .direction = localise::Direction::kSends},
                                       .drop = 0.2}};
  const Levels levels = levels_of(site.night(0, faults)).value();
  EXPECT_NEAR(levels.end(Memory::kBase, Side::kSends, 5, 1).loss, -std::log(0.8), 0.02);
  EXPECT_NEAR(levels.end(Memory::kBase, Side::kReceives, 5, 1).loss, 0, 0.02);
  EXPECT_NEAR(levels.end(Memory::kBase, Side::kSends, 5, 0).loss, 0, 0.02);
  EXPECT_NEAR(levels.end(Memory::kBase, Side::kSends, 6, 1).loss, 0, 0.02);
}

TEST(PartLevels, DoNotDependOnTheOrderOfFigures) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  const Levels levels = levels_of(night).value();
  std::ranges::reverse(night.figures);
  EXPECT_LT(apart(levels_of(night).value(), levels), 1e-3);
}

TEST(PartLevels, DoNotDependOnTheUnit) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  const Levels levels = levels_of(night).value();
  for (Figure& figure : night.figures) figure.value *= 8e-9;
  EXPECT_LT(apart(levels_of(night).value(), levels), 1e-5);
}

TEST(PartLevels, OfATimeAreLossesWhereItIsLonger) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  const Levels levels = levels_of(night).value();
  night.larger_is_better = false;
  for (Figure& figure : night.figures) figure.value = 1e12 / figure.value;
  EXPECT_LT(apart(levels_of(night).value(), levels), 1e-5);
}

TEST(PartLevels, OfANightWithoutFiguresAreRefused) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  night.figures.clear();
  EXPECT_EQ(levels_of(night).error().code, Code::kFailedPrecondition);
}

TEST(PartLevels, OfASingleNodeAreRefused) {
  const NightFigures night{.nodes = {{.name = "n1"}}, .figures = {{.value = 1e9}}};
  EXPECT_EQ(levels_of(night).error().code, Code::kFailedPrecondition);
}

TEST(PartLevels, OfUnknownNodesAreRefused) {
  const NightFigures night{.nodes = {{.name = "n1"}, {.name = "n2"}},
                           .figures = {{.to = 2, .value = 1}}};
  EXPECT_EQ(levels_of(night).error().code, Code::kInvalidArgument);
}

TEST(PartLevels, LeaveOutWhatIsNoMeasurementAndSayWhy) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  const Levels levels = levels_of(night).value();
  Figure figure = night.figures.front();
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    figure.value = value;
    night.figures.push_back(figure);
  }
  const Levels again = levels_of(night).value();
  EXPECT_LT(apart(again, levels), 1e-6);
  EXPECT_THAT(again.left_out, ElementsAre(HasSubstr("2 figures are left out: not a finite number"),
                                          HasSubstr("2 figures are left out: not above 0")));
}

TEST(PartLevels, OfARailWithoutFiguresAreUnknown) {
  Site site(kSmall);
  NightFigures night = site.night(0);
  std::erase_if(night.figures, [](const Figure& figure) { return figure.rail == 0; });
  const Levels levels = levels_of(night).value();
  EXPECT_FALSE(levels.end(Memory::kBase, Side::kSends, 0, 0).known());
  EXPECT_TRUE(levels.end(Memory::kBase, Side::kSends, 0, 1).known());
  EXPECT_FALSE(levels.centre(Memory::kBase, 0).known());
}

// One round: each node has met one other, so that a slow figure accuses both alike.
// A quick scan: each node sends to the next and to the next but three.
NightFigures quick_scan(std::uint32_t nodes, std::uint32_t slow, unsigned seed) {
  NightFigures night;
  std::minstd_rand random(seed);
  std::normal_distribution<double> noise(0, 0.005);
  for (std::uint32_t node = 0; node < nodes; ++node)
    night.nodes.push_back({.name = "n" + std::to_string(node)});
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::uint32_t step = 1; step <= 2; ++step)
      night.figures.push_back(
          {.from = node,
           .to = (node + step * step) % nodes,
           .value = 25e9 * std::exp(noise(random)) * (node == slow ? 0.75 : 1)});
  return night;
}

TEST(PartLevels, OfAFewFiguresLeaveThePartnersOfASlowEndAlone) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const std::uint32_t slow = seed % 64;
    const Levels levels = levels_of(quick_scan(64, slow, seed)).value();
    EXPECT_NEAR(levels.end(Memory::kBase, Side::kSends, slow, 0).loss, -std::log(0.75), 0.025)
        << seed;
    for (std::uint32_t node = 0; node < 64; ++node) {
      EXPECT_LT(std::abs(levels.end(Memory::kBase, Side::kReceives, node, 0).loss), 0.025)
          << seed << ": " << node;
      if (node != slow)
        EXPECT_LT(std::abs(levels.end(Memory::kBase, Side::kSends, node, 0).loss), 0.025)
            << seed << ": " << node;
    }
  }
}

TEST(PartLevels, OfOnePartnerShareTheLoss) {
  NightFigures night;
  for (std::uint32_t node = 0; node < 16; ++node) night.nodes.push_back({.name = "n"});
  for (std::uint32_t node = 0; node < 16; node += 2)
    for (const bool back : {false, true})
      night.figures.push_back({.from = back ? node + 1 : node,
                               .to = back ? node : node + 1,
                               .value = node == 4 && !back ? 0.8e9 : 1e9});
  const Levels levels = levels_of(night).value();
  EXPECT_NEAR(levels.end(Memory::kBase, Side::kSends, 4, 0).loss,
              levels.end(Memory::kBase, Side::kReceives, 5, 0).loss, 1e-3);
  EXPECT_GT(levels.end(Memory::kBase, Side::kSends, 4, 0).loss, 0.05);
}

}  // namespace
}  // namespace railgauge::parts

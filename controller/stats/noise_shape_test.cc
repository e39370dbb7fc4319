// The shape of noise, on synthetic figures.
#include "controller/stats/noise_shape.h"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr double kLevelDrawn = 1'000;
constexpr int kSeriesDrawn = 1'000;

template <class Draw>
std::map<NoiseShape, int> shapes_of(std::size_t figures, Draw draw) {
  std::map<NoiseShape, int> counts;
  for (int i = 0; i < kSeriesDrawn; ++i) {
    std::vector<double> values;
    for (std::size_t at = 0; at < figures; ++at) values.push_back(draw(at));
    const auto shape = noise_shape(values);
    EXPECT_TRUE(shape);
    ++counts[shape.value_or(NoiseShape::kOk)];
  }
  return counts;
}

TEST(NoiseShape, OfNormalNoiseIsOkInNineteenOfTwentySeries) {
  Chance chance(1);
  const auto normal = [&](std::size_t) { return kLevelDrawn + 20 * chance.normal(); };
  EXPECT_GE(shapes_of(30, normal)[NoiseShape::kOk], 950);
  EXPECT_GE(shapes_of(20, normal)[NoiseShape::kOk], 940);
  EXPECT_GE(shapes_of(kLeastForNoise, normal)[NoiseShape::kOk], 880);
}

TEST(NoiseShape, OfTwoModesIsModalHoweverTheyAreMixed) {
  Chance chance(2);
  const auto mixed = [&](std::size_t) {
    return kLevelDrawn + (chance.uniform() < 0.4 ? 60 : 0) + 10 * chance.normal();
  };
  EXPECT_GE(shapes_of(30, mixed)[NoiseShape::kModal], 930);
  const auto exact = [](std::size_t at) { return at % 3 == 0 ? 2.0 : 1.0; };
  EXPECT_EQ(shapes_of(30, exact)[NoiseShape::kModal], kSeriesDrawn);
}

TEST(NoiseShape, OfOneFarFigureHasOutliers) {
  Chance chance(3);
  const auto spiky = [&](std::size_t at) {
    return kLevelDrawn + 20 * chance.normal() - (at == 7 ? 300 : 0);
  };
  EXPECT_GE(shapes_of(30, spiky)[NoiseShape::kOutliers], 950);
}

TEST(NoiseShape, OfALongTailIsSkewedOrHasOutliersAndSeldomOk) {
  Chance chance(4);
  const auto tailed = [&](std::size_t) { return kLevelDrawn - 20 * std::log(chance.uniform()); };
  const auto shapes = shapes_of(30, tailed);
  EXPECT_GE(shapes.at(NoiseShape::kSkewed), 150);
  EXPECT_LE(shapes.at(NoiseShape::kOk), 450);
  std::vector<double> ramp;  // no figure is far, and the tail is to one side
  for (int i = 0; i < 30; ++i) ramp.push_back(kLevelDrawn + std::pow(i, 2.5) / 10);
  EXPECT_EQ(noise_shape(ramp), NoiseShape::kSkewed);
}

TEST(NoiseShape, OfEqualOrRoundedFiguresIsOk) {
  EXPECT_EQ(noise_shape(std::vector<double>(20, kLevelDrawn)), NoiseShape::kOk);
  EXPECT_EQ(noise_shape(std::vector<double>(20, 0.0)), NoiseShape::kOk);
  std::vector<double> rounded(20, kLevelDrawn);
  rounded[3] += 1;  // 0.1 %
  EXPECT_EQ(noise_shape(rounded), NoiseShape::kOk);
  rounded[3] += 9;
  EXPECT_EQ(noise_shape(rounded), NoiseShape::kOutliers);
}

TEST(NoiseShape, IsAbsentForFewFiguresAndForThoseThatAreNone) {
  std::vector<double> few(kLeastForNoise - 1, kLevelDrawn);
  EXPECT_FALSE(noise_shape(few));
  EXPECT_FALSE(noise_shape({}));
  few.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(noise_shape(few));
}

}  // namespace
}  // namespace railgauge::analysis

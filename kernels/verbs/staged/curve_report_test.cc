// Synthetic curves: no figure here was measured.
#include "kernels/verbs/staged/curve_report.h"

#include <gmock/gmock.h>

namespace railgauge::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Curve latency(double start_ns, double ns_per_byte) {
  Curve curve{.metric = "latency_ns", .values = {}};
  for (double bytes = 1024; bytes <= 1 << 20; bytes *= 4)
    curve.values.push_back({bytes, start_ns + bytes * ns_per_byte});
  return curve;
}

TEST(CurveReport, NamesTheSizeWhereStagingOvertakes) {
  // 2000 + 0.2 x = 10000 + 0.1 x at x = 80000.
  EXPECT_THAT(
      crossing_in_words(latency(2000, 0.2), latency(10'000, 0.1)).value(),
      ::testing::MatchesRegex("GPUDirect and staged cross at 8[0-9][0-9][0-9][0-9]: GPUDirect "
                              "is the faster below, staged above"));
}

TEST(CurveReport, NamesTheSizeWhereGpuDirectOvertakes) {
  EXPECT_THAT(crossing_in_words(latency(10'000, 0.1), latency(2000, 0.2)).value(),
              ::testing::EndsWith("staged is the faster below, GPUDirect above"));
}

TEST(CurveReport, ABandwidthIsComparedByTheTimeOfAMessage) {
  const Curve direct{.metric = "bandwidth_bytes_per_second",
                     .values = {{100, 4e9}, {400, 1e9}, {800, 1e9}}};
  const Curve staged{.metric = "bandwidth_bytes_per_second",
                     .values = {{100, 2e9}, {400, 2e9}, {800, 2e9}}};
  EXPECT_EQ(crossing_in_words(direct, staged),
            "GPUDirect and staged cross at 200: GPUDirect is the faster below, staged above");
}

TEST(CurveReport, SaysWhichIsTheFasterWhereTheyDoNotCross) {
  EXPECT_EQ(crossing_in_words(latency(1000, 0.1), latency(2000, 0.2)),
            "GPUDirect and staged: no crossing from 1KiB to 1MiB: GPUDirect is the faster at all "
            "sizes");
  EXPECT_EQ(
      crossing_in_words(latency(2000, 0.2), latency(1000, 0.1)),
      "GPUDirect and staged: no crossing from 1KiB to 1MiB: staged is the faster at all sizes");
}

TEST(CurveReport, TwoSizesTellOfNoCrossing) {
  EXPECT_EQ(crossing_in_words({}, latency(1000, 0.1)), std::nullopt);
  Curve two = latency(1000, 0.1);
  two.values.resize(2);
  EXPECT_EQ(crossing_in_words(two, latency(2000, 0.1)), std::nullopt);
}

TEST(CurveReport, ADirectLatencyLikeTheStagedOneLooksStaged) {
  EXPECT_EQ(looks_staged(latency(5000, 0.1), latency(10'000, 0.1)), std::nullopt);
  EXPECT_EQ(looks_staged(latency(9500, 0.1), latency(10'000, 0.1)),
            "looks staged: 1KiB take 9.6 us by GPUDirect and 10.1 us through host memory; the path "
            "may go there although the driver claims none: look at ACS, the IOMMU and the PCIe "
            "distance");
  const Curve long_one{.metric = "latency_ns", .values = {{1 << 20, 1e5}}};
  EXPECT_EQ(looks_staged(long_one, long_one), std::nullopt) << "there the wire is most of it";
}

TEST(CurveReport, NamesEachKnee) {
  const Curve curve{
      .metric = "bandwidth_bytes_per_second",
      .values = {{1024, 1e9}, {4096, 4e9}, {16384, 16e9}, {65536, 17e9}, {262144, 17e9}}};
  EXPECT_THAT(knees_in_words(curve),
              ElementsAre("bandwidth: knee of the size curve at 16KiB: rising below, flat above"));
  EXPECT_THAT(knees_in_words({}), IsEmpty());
}

class Keeping final : public Reporter {
 public:
  void point(Point point) override { points.push_back(std::move(point)); }
  void note(std::string_view, std::string) override {}
  void fact(std::string_view name, std::string) override { facts.emplace_back(name); }
  std::vector<Point> points;
  std::vector<std::string> facts;
};

TEST(CurveReport, ATwinsPointsCarryTheirOwnMemoryAndPath) {
  Keeping to;
  CurveReporter reporter(to, "staged");
  for (const char* name : {"memory", "peer_memory", "path", "peer_path", "device"})
    reporter.fact(name, name == std::string_view("device") ? "mlx5_0" : "staged");
  reporter.point({});
  EXPECT_TRUE(to.facts.empty());
  ASSERT_EQ(to.points.size(), 1U);
  EXPECT_EQ(to.points[0].facts().size(), 4U);
  EXPECT_EQ(to.points[0].facts().at("path"), "staged");
}

class Counting final : public Reporter {
 public:
  void point(Point point) override { pairs.push_back(point.pair()); }
  void note(std::string_view, std::string) override {}
  void fact(std::string_view, std::string) override {}
  std::vector<std::string> pairs;
};

TEST(CurveReport, OfSeveralLinksTheCurveIsThatOfAllTogether) {
  Counting to;
  CurveReporter reporter(to, "");
  for (const auto& [pair, value] : {std::pair{"a:1>a:1", 1e9}, std::pair{"b:1>b:1", 2e9},
                                    std::pair{"rails0-1>rails0-1", 3e9}}) {
    Point point;
    point.set_metric("bandwidth_bytes_per_second");
    point.set_message_bytes(1024);
    point.set_median(value);
    point.set_pair(pair);
    if (value == 3e9) (*point.mutable_facts())["links"] = "2";
    reporter.point(point);
  }
  EXPECT_EQ(to.pairs.size(), 3U);
  ASSERT_EQ(reporter.curve().values.size(), 1U);
  EXPECT_EQ(reporter.curve().values[0].value, 3e9);
}

}  // namespace
}  // namespace railgauge::verbs

// The figures of both sides of an upgrade by series and statistic: which of them are compared, and
// the reasons why others are not. Pure; thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/upgrades/upgrade_data.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// The least share of its level that a low slot or flow counts as. Nothing moved in such a slot: 0
// is a loss of all and no missing figure, and the floor gives it a logarithm.
inline constexpr double kLeastShare = 1e-3;

// The points of one side by series; the pointers are into the side.
using BySeries = std::map<std::int64_t, std::vector<const store::SidePointRow*>>;
BySeries by_series(const std::vector<store::SidePointRow>& points);

// The point's figure of a statistic ("median", "rate", "p90", "p99", "p99.9", "p10", "p1", "flow");
// absent where the launch had too few samples for it.
std::optional<double> figure_of(const store::SidePointRow& point, std::string_view statistic);

// The statistics by which a series is compared: the level, then the shape beside it. The level of a
// rate is all that moved over all time, because a pause moves no median.
std::vector<std::string_view> statistics_of(const store::SeriesRow& series);

// The measurement of a series without its place, with all that separates series: those of one stage
// of a suite have one kind.
std::string kind_of(const store::SeriesRow& series);

// Launches that a pair needs on each side.
struct Launches {
  std::size_t before = 0;
  std::size_t after = 0;
};

// The series that are compared, and how.
struct Comparison {
  BySeries before{};
  BySeries after{};
  // Series that are left out: of a kernel in `revised`, or of a revision that the after side does
  // not have.
  std::set<std::int64_t> left_out{};
  // Kernels that another method measured before, by name.
  std::map<std::string, Revisions> revised{};
  // The launches that are needed by measurement, as metric_text() names it without a statistic: as
  // many as its best measured pair has, kLeastRunsASide to kRunsASide; of history
  // kHistoryRunsBefore.
  std::map<std::string, Launches> needed{};
};
// The pointers are into `sides`.
Comparison comparison_of(const UpgradeData& sides);

// The judge's runs of one statistic of a series, and how many a side it needs.
struct SeriesFigures {
  std::string metric{};
  std::string_view statistic{};
  Launches needed{};
  // A figure for each launch, not finite where the launch has none.
  std::vector<double> before{};
  std::vector<double> after{};
};

// Takes the figures of each series, and counts those that cannot be compared. One launch of five
// may lack a shape; a pair in which more lack it is not judged by that shape.
class FigureTaker {
 public:
  // `sides` and `comparison` outlive the taker.
  FigureTaker(const UpgradeData& sides, const Comparison& comparison)
      : sides_(sides), comparison_(comparison) {}

  // The figures of the series with that id by statistic, the level first. `counts`: whether the
  // series is of a pair that changed, whose missing shapes are noted.
  std::vector<SeriesFigures> take(std::int64_t id, bool counts);

  // Adds a note for each shape that is not judged on some pair, with the reason. Where operations
  // became so slow that a tail of before cannot be measured any more, a pass needs that tail.
  void add_notes(analysis::UpgradeRuns& out) const;

 private:
  // Changed pairs of one metric by why its shape is not judged.
  struct Shapes {
    std::size_t all = 0;
    std::size_t lacking_before = 0;
    std::size_t lacking_after = 0;
    // Those among the latter whose operations became slower, and the largest such share.
    std::size_t slower = 0;
    double slower_by = 0;
    bool is_rate = false;
    // Whether any launch has it.
    bool is_known = false;
  };

  const UpgradeData& sides_;
  const Comparison& comparison_;
  std::map<std::string, Shapes> shapes_{};
};

}  // namespace railgauge

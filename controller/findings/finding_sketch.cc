#include "controller/findings/finding_sketch.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include <google/protobuf/util/json_util.h>

#include "controller/api/judge.pb.h"
#include "controller/findings/part_cases.h"
#include "controller/stats/distributions.h"
#include "controller/upgrades/series_measure.h"

namespace railgauge {
namespace {

// Newest figures before the begin whose noise is looked at: those that a screen draws.
constexpr std::size_t kFiguresLooked = 30;
constexpr double kPercentSure = 100;
// Half the width of a 95 % interval, in standard deviations.
constexpr double kDeviationsOf95 = 1.96;

// The shape of the newest figures, which are the level that the finding is compared with.
std::optional<analysis::NoiseShape> noise_of_last(std::span<const double> figures) {
  return analysis::noise_shape(figures.last(std::min(figures.size(), kFiguresLooked)));
}

// A message as its author wrote it; a text that is none gives an empty one.
template <class Message>
Message parsed(const std::string& json) {
  Message message;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(json, &message, options).ok()) message.Clear();
  return message;
}

// The chance of the finding, by what its author stored as evidence.
std::optional<double> p_of(const store::FindingRow& finding) {
  if (!finding.upgrade_id.empty()) {
    const auto report = parsed<api::Upgrade>(finding.evidence);
    if (report.metrics().empty() || finding.kind != "regression") return std::nullopt;
    return report.metrics(0).p();
  }
  if (finding.kind == kPartKind) {
    const PartEvidence part = part_evidence_of(finding);
    const double deviation = (part.high() - part.low()) / (2 * kDeviationsOf95);
    if (!(deviation > 0) || !(part.loss() > 0)) return std::nullopt;
    return analysis::normal_upper_tail(part.loss() / deviation);
  }
  const auto moved = parsed<MovedEvidence>(finding.evidence);
  if (!moved.has_p()) return std::nullopt;
  return moved.p();
}

}  // namespace

FindingSketch sketch_of(const store::SeriesRow& series, const FindingFacts& facts,
                        const FindingCauses& causes) {
  std::vector<double> before;
  for (const LevelPoint& point : facts.points)
    if (causes.good_at && point.at <= *causes.good_at) before.push_back(point.value);
  return {.metric = metric_text(series, ""),
          .noise = noise_of_last(before),
          .begin_from = causes.begin_from,
          .begin_until = causes.begin_until};
}

FindingSketch sketch_of_part(const store::FindingRow& finding) {
  const PartEvidence evidence = part_evidence_of(finding);
  const std::vector<double> before(evidence.before_levels().begin(),
                                   evidence.before_levels().end());
  return {.metric = evidence.series(), .noise = noise_of_last(before)};
}

Result<FindingSketch> read_sketch(const store::Store& store, const std::string& finding_id) {
  const store::FindingRow row = RG_TRY(store.read(store::read_finding, finding_id));
  if (row.kind == kPartKind) return sketch_of_part(row);
  if (row.series.empty()) return FindingSketch();
  const store::SeriesRow series =
      RG_TRY(store.read(store::read_one_series, row.series.front().series));
  const FindingFacts facts = RG_TRY(facts_of(store, row, {}));
  return sketch_of(series, facts, causes_of(facts));
}

std::optional<double> confidence_percent(const store::FindingRow& finding) {
  const auto p = p_of(finding);
  if (!p || !(*p >= 0 && *p <= 1)) return std::nullopt;
  return kPercentSure * (1 - *p);
}

}  // namespace railgauge

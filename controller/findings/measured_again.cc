#include "controller/findings/measured_again.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "controller/findings/changes/series_runs.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/run_judge.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

constexpr double kPercentOfLoss = 100;
// Newest runs of a finding whose figures are read.
constexpr std::size_t kMostRuns = 20;
// Series of one run that are read.
constexpr std::size_t kSeriesRead = 64;
// Newest points of a series among which the run's are searched.
constexpr std::uint32_t kPointsOfSeriesRead = 400;
// Earlier figures that give the level of a control, and the fewest that do.
constexpr std::size_t kPastRead = 10;
constexpr std::size_t kLeastPast = 3;
// A rerun shows the finding with so much of its loss.
constexpr double kShareToConfirm = 0.5;

// Reports whether a loss of the rerun is half of that of the finding or more.
bool has_it(const RerunLosses& losses, double loss) {
  return losses.found > 0 && loss >= kShareToConfirm * losses.found;
}

// The figures of one series by time: of the run, and the newest ones before its first.
struct Figures {
  std::vector<double> now{};
  std::vector<double> before{};
};

Result<Figures> figures_of(const store::Store& store, std::int64_t series,
                           const store::RunRow& run) {
  Figures out;
  const store::HistoryRow history =
      RG_TRY(store.history(series, std::nullopt, kPointsOfSeriesRead));
  for (const store::HistoryPointRow& point : history.points) {
    if (point.outcome != kPassed || !(point.headline > 0)) continue;
    if (point.run_id == run.run_id)
      out.now.push_back(point.headline);
    else if (out.now.empty())
      out.before.push_back(point.headline);
  }
  if (out.before.size() > kPastRead)
    out.before.erase(out.before.begin(), out.before.end() - kPastRead);
  return out;
}

// The losses of the finding's own series against their levels before.
Result<RerunLosses> losses_of_rerun(const store::Store& store, const store::FindingRow& finding,
                                    const store::RunRow& run) {
  RerunLosses out;
  std::vector<double> found;
  for (const store::FindingSeriesRow& moved : finding.series) {
    if (!moved.before || found.size() == kSeriesRead) continue;
    const store::SeriesRow series = RG_TRY(store.read(store::read_one_series, moved.series));
    found.push_back(worse_by(series, *moved.before, moved.after.value_or(*moved.before)));
    const Figures figures = RG_TRY(figures_of(store, moved.series, run));
    if (!figures.now.empty())
      out.now.push_back(worse_by(series, *moved.before, median(figures.now)));
  }
  out.found = finding.worse.value_or(upper_median(std::move(found)));
  return out;
}

// The metrics of the finding's series, in words that series elsewhere share.
Result<std::set<std::string>> metrics_of(const store::Store& store,
                                         const store::FindingRow& finding) {
  std::set<std::string> metrics;
  if (finding.kind == kPartKind) metrics.insert(part_evidence_of(finding).series());
  for (const store::FindingSeriesRow& moved : finding.series)
    metrics.insert(metric_text(RG_TRY(store.read(store::read_one_series, moved.series)), ""));
  return metrics;
}

// The losses of a control's series against their own figures before the run.
Result<std::vector<double>> losses_of_control(const store::Store& store,
                                              const store::FindingRow& finding,
                                              const store::RunRow& run) {
  const std::set<std::string> metrics = RG_TRY(metrics_of(store, finding));
  std::set<std::int64_t> ids;
  for (const store::SidePointRow& point : RG_TRY(store.read(
           store::read_side_points, std::vector{run.run_id}, std::vector<std::string>())))
    ids.insert(point.series);
  std::vector<double> losses;
  for (const std::int64_t id : ids) {
    const store::SeriesRow series = RG_TRY(store.read(store::read_one_series, id));
    if (!metrics.contains(metric_text(series, ""))) continue;
    const Figures figures = RG_TRY(figures_of(store, id, run));
    if (figures.now.empty() || figures.before.size() < kLeastPast) continue;
    losses.push_back(worse_by(series, median(figures.before), median(figures.now)));
    if (losses.size() == kSeriesRead) break;
  }
  return losses;
}

// The number of series that show the finding.
std::size_t shown_in(const RerunLosses& losses) {
  return static_cast<std::size_t>(
      std::ranges::count_if(losses.now, [&](double loss) { return has_it(losses, loss); }));
}

// The reason of a run that gave no figure: its own outcome.
std::string why_no_figure(const store::RunRow& run) {
  return fmt::format("no figure to compare: the run {}{}{}", run.outcome,
                     run.reason.empty() ? "" : ": ", run.reason);
}

// By the judge's own words, which begin with the run: of parts, and of spreads, modes and knees,
// which the figures of one run do not show by themselves.
void answer_by_judge(const store::FindingRow& finding, const store::RunRow& run,
                     MeasuredAgain& out) {
  if (run.judged_at == 0) {
    out.state = "running";
    out.reason = "measured, and not judged yet";
    return;
  }
  out.state = "failed";
  out.reason = "the judge says nothing about the finding by it";
  const std::string head = fmt::format("run {}: ", run.run_id);
  for (const store::FindingStepRow& step : finding.steps) {
    if (step.who != kRunJudgeWho || !step.text.starts_with(head)) continue;
    out.state = step.action == "resolve" ? "failed" : "confirmed";
    out.reason = step.text.substr(head.size());
  }
}

// Fills state, reason and figures of a rerun that has ended.
Status answer_rerun(const store::Store& store, const store::FindingRow& finding,
                    const store::RunRow& run, MeasuredAgain& out) {
  const auto kind = moved_kind_of(finding.kind);
  if (finding.series.empty() || (kind && !is_of_level(*kind) && *kind != MovedKind::kPeer)) {
    answer_by_judge(finding, run, out);
    return {};
  }
  const RerunLosses losses = RG_TRY(losses_of_rerun(store, finding, run));
  out.figures = losses.now.size();
  out.state = is_shown_again(losses) ? "confirmed" : "failed";
  if (losses.now.empty()) {
    out.reason = why_no_figure(run);
    return {};
  }
  out.worse = median(losses.now);
  out.reason = fmt::format("{} of {} series have half of its loss or more", shown_in(losses),
                           losses.now.size());
  return {};
}

// The same of a control, which confirms nothing by itself.
Status answer_control(const store::Store& store, const store::FindingRow& finding,
                      const store::RunRow& run, MeasuredAgain& out) {
  const std::vector<double> losses = RG_TRY(losses_of_control(store, finding, run));
  out.figures = losses.size();
  out.state = losses.empty() ? "failed" : "measured";
  if (losses.empty()) {
    out.reason = why_no_figure(run);
    return {};
  }
  out.worse = median(losses);
  const bool moved = has_it({.found = finding.worse.value_or(0)}, *out.worse);
  out.reason = fmt::format(
      "{:+.1f} % worse than before on pairs that it does not touch{}", kPercentOfLoss * *out.worse,
      moved ? ": they moved as well, so that the cause is no part of its own" : "");
  return {};
}

}  // namespace

bool is_shown_again(const RerunLosses& losses) { return 2 * shown_in(losses) > losses.now.size(); }

Result<std::vector<MeasuredAgain>> measured_again(const store::Store& store,
                                                  const store::FindingRow& finding) {
  std::vector<MeasuredAgain> out;
  for (const store::FindingStepRow& step : finding.steps)
    if (step.action == kRerun || step.action == kControlRun)
      out.push_back({.run_id = step.text, .kind = step.action, .at = step.at, .who = step.who});
  if (out.size() > kMostRuns) out.erase(out.begin(), out.end() - kMostRuns);
  std::vector<MeasuredAgain> known;
  for (MeasuredAgain& one : out) {
    const auto summary = store.run_summary(one.run_id);
    if (!summary && summary.error().code == Code::kNotFound) continue;
    if (!summary) return tl::unexpected(summary.error());
    const store::RunRow& run = summary->run;
    if (run.state == api::RunState::kPlanned)
      one.state = "planned";
    else if (run.state != api::RunState::kEnded)
      one.state = "running";
    else if (one.kind == kRerun)
      RG_TRY_OK(answer_rerun(store, finding, run, one));
    else
      RG_TRY_OK(answer_control(store, finding, run, one));
    known.push_back(std::move(one));
  }
  return known;
}

std::string confirmation_of(std::span<const MeasuredAgain> runs) {
  std::string state;
  for (const MeasuredAgain& run : runs)
    if (run.kind == kRerun) state = run.state;
  return state;
}

}  // namespace railgauge

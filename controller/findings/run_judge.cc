#include "controller/findings/run_judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/findings/changes/measured_twice.h"
#include "controller/findings/failed_ports.h"
#include "controller/findings/part_judge.h"
#include "controller/findings/wrong_bytes.h"
#include "controller/fleet/event_loop.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/remarks.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {

namespace {

// The bound of a spread's growth, a fraction: deviations are not known to a few percent.
constexpr double kSpreadGrowth = 0.25;

// The loss from `before` to `after` as a fraction of `before`; of a spread both are deviations.
double lost(const RunEvent& event, const SeriesById& series, std::int64_t id, double before,
            double after) {
  if (event.kind == MovedKind::kVariance) return before > 0 ? after / before - 1 : 0;
  const auto found = series.find(id);
  return found == series.end() ? 0 : worse_by(found->second->series, before, after);
}

// The levels that the finding stored for the series; null where it has none.
const store::FindingSeriesRow* known_of(const store::FindingRow& known, std::int64_t series) {
  const auto found = std::ranges::find(known.series, series, &store::FindingSeriesRow::series);
  return found == known.series.end() ? nullptr : &*found;
}

// Reports whether a person decided that the level is right, or that the finding is none.
bool is_settled(store::FindingState state) {
  return state == store::FindingState::kAccepted || state == store::FindingState::kFalse;
}

}  // namespace

// A finding that moved to other series is compared by its loss. A person settled the old series
// only, so that a settled finding then counts from zero.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta) {
  std::vector<double> since;
  for (const store::FindingSeriesRow& now : event.series) {
    const store::FindingSeriesRow* then = known_of(known, now.series);
    if (then == nullptr || !then->after || !now.after) continue;
    since.push_back(lost(event, series, now.series, *then->after, *now.after));
  }
  const double bound = event.kind == MovedKind::kVariance ? kSpreadGrowth : delta;
  if (!since.empty()) return upper_median(std::move(since)) > bound;
  // Other series than those that were settled: nobody has settled these.
  return event.worse > bound + (is_settled(known.state) ? 0 : known.worse.value_or(0));
}

void set_reference_levels(const store::FindingRow& known, const SeriesById& series,
                          RunEvent& event) {
  if (api::is_mended(known.state)) return;  // it was as before in between
  std::vector<double> worse;
  for (store::FindingSeriesRow& now : event.series) {
    const store::FindingSeriesRow* then = known_of(known, now.series);
    const auto level = then == nullptr           ? std::nullopt
                       : is_settled(known.state) ? then->after
                                                 : then->before;
    if (level) now.before = level;
    if (now.before && now.after)
      worse.push_back(lost(event, series, now.series, *now.before, *now.after));
  }
  // The loss of a knee is a share of sizes, which levels do not contain.
  if (event.kind != MovedKind::kKnee && !worse.empty())
    event.worse = upper_median(std::move(worse));
}

namespace {

// Events of one run that become findings, the worst first; more say that the run is at fault.
constexpr std::size_t kEventsKept = 50;
constexpr double kPercentWorse = 100;

// Leaves out series whose newest figure is of a later run, which has judged them already.
void keep_newest(const std::string& run_id, std::vector<SeriesRuns>& all) {
  const std::size_t left_out = std::erase_if(
      all, [&](const SeriesRuns& one) { return one.runs.empty() || one.runs.back() != run_id; });
  if (left_out > 0)
    spdlog::warn("run {}: {} series are not judged: their newest figures are of another run",
                 run_id, left_out);
}

// The id of the finding: equal events of different runs share it, so that the second run confirms
// the first.
std::string id_of(const RunEvent& event) {
  return fmt::format("{}-{}-{}", word(event.kind), finding_word(event.where),
                     finding_word(event.metric));
}

// The event as a finding that is new now.
store::FindingRow finding_of(const RunEvent& event, const std::string& run_id,
                             const std::map<std::string, std::string>& node_ids, double now) {
  store::FindingRow row{.finding_id = id_of(event),
                        .kind = std::string(word(event.kind)),
                        .severity = severity::kWarning,
                        .run_id = run_id,
                        .suspect = event.where,
                        .opened_at = now,
                        .worse = event.worse,
                        .series = event.series};
  row.node_id = value_of(node_ids, event.node);
  row.summary = fmt::format("{}: {} of {} series, {:.1f} % worse ({}{}{})", event.where,
                            event.metric, event.series.size(), kPercentWorse * event.worse,
                            word(event.kind), event.detail.empty() ? "" : " ", event.detail);
  row.evidence = fmt::format(R"({{"p": {:.3g}, "series": {}}})", event.p, event.series.size());
  return row;
}

// The facts of the judged run that every finding needs.
struct RunContext {
  const std::string& run_id;
  double now = 0;  // unix seconds
  SeriesById series{};
  std::map<std::string, std::string> node_ids{};
};

// Stores the event as a finding. A second run that shows it confirms it, and a run that is worse by
// the bound adds a step. A finding that a person settled stays as it is unless it got worse, or
// reopens if it was fixed. Returns whether it is new. A run that is judged twice changes nothing.
Result<bool> keep(store::Store& store, const RunContext& context, RunEvent event, double delta) {
  const auto row = [&] { return finding_of(event, context.run_id, context.node_ids, context.now); };
  const auto known = store.read(store::read_finding, id_of(event));
  if (!known && known.error().code == Code::kNotFound) {
    RG_TRY_OK(store.write(store::write_finding, row()));
    return true;
  }
  if (!known) return tl::unexpected(known.error());
  const store::FindingState state = known->state;
  const bool is_new = api::is_unseen(state);
  if (is_new && known->run_id == context.run_id) return false;  // judged twice
  const bool grew = has_grown(*known, event, context.series, delta);
  const bool opens = store::opens_when_seen(*known) ||
                     (grew && !is_new && state != store::FindingState::kConfirmed);
  if (!is_new && !opens && !grew) return false;
  set_reference_levels(*known, context.series, event);
  store::FindingRow finding = row();
  store::FindingStepRow step{
      .at = context.now, .who = std::string(kRunJudgeWho), .action = "worse"};
  step.text = fmt::format("run {}: {}", context.run_id, finding.summary);
  if (is_new || opens)
    step.action = is_new ? "confirm" : "reopen";
  else
    step.text += ", worse than confirmed";
  RG_TRY_OK(store.write(store::write_finding_again, std::move(finding), std::move(step)));
  return opens;
}

// The level before the fresh runs; of a short series the level of all but its newest run.
double level_before(const SeriesRuns& one) {
  constexpr std::size_t kEnough = 5;
  const std::size_t young = one.values.size() >= kFreshRuns + kEnough ? kFreshRuns : 1;
  return median(std::span(one.values).first(one.values.size() - young));
}

// The median loss in the newest run of series of the event's metric outside the event. Absent where
// none was measured before, or where the whole fabric moved.
std::optional<double> lost_by_others(const std::vector<SeriesRuns>& all, const RunEvent& event) {
  std::vector<double> lost;
  for (const SeriesRuns& one : all) {
    const bool is_its = std::ranges::find(event.series, one.series.series_id,
                                          &store::FindingSeriesRow::series) != event.series.end();
    if (!is_its && one.values.size() > 1 && metric_text(one.series, "") == event.metric)
      lost.push_back(worse_by(one.series, level_before(one), one.values.back()));
  }
  if (lost.empty() || event.where == "fabric") return std::nullopt;
  return median(lost);
}

// Reports whether the confirming run itself shows the event: most of its series are still at least
// half as bad, and worse by the bound than the other series of the metric. The runs before it are
// the reason for the event and prove nothing again.
bool shows(const std::vector<SeriesRuns>& all, const RunEvent& event) {
  if (!is_of_level(event.kind) && event.kind != MovedKind::kPeer)
    return true;  // one figure proves nothing, and a knee's share is of sizes, not of levels
  const std::optional<double> others = lost_by_others(all, event);
  std::size_t bad = 0;
  for (const store::FindingSeriesRow& series : event.series) {
    const auto runs = std::ranges::find_if(
        all, [&](const SeriesRuns& one) { return one.series.series_id == series.series; });
    if (runs == all.end() || !series.before) continue;
    const double lost = worse_by(runs->series, *series.before, runs->values.back());
    const bool is_own = !others || lost - *others >= traits_of(runs->series).delta;
    bad += lost >= event.worse / 2 && is_own ? 1 : 0;
  }
  return 2 * bad > event.series.size();
}

}  // namespace

// Repeats are counted before series are left out, because they need all series of the run. The
// judge's own confirming runs keep only events that they show themselves, and lead to no further
// run.
Result<std::vector<store::SeriesRow>> judge_run(store::Store& store, const std::string& run_id,
                                                double now, const LeafSource& leaves,
                                                const std::atomic<bool>* ends) {
  std::vector<store::SeriesRow> fresh;
  const store::RunRow run = RG_TRY(store.run_summary(run_id)).run;
  RG_TRY_OK(judge_wrong_bytes(store, run, now));
  if (run.trigger == "upgrade") return fresh;
  RG_TRY_OK(judge_failed_ports(store, run, now));
  std::vector<SeriesRuns> all = RG_TRY(series_of_run(store, run_id, leaves, ends));
  RG_TRY_OK(keep_repeats(store, run_id, all, now));
  keep_newest(run_id, all);
  std::vector<RunEvent> events = events_of(all);
  if (run.requested_by == kRunJudgeWho)
    std::erase_if(events, [&](const RunEvent& event) { return !shows(all, event); });
  std::ranges::sort(events, std::greater(), &RunEvent::worse);
  if (events.size() > kEventsKept) {
    spdlog::warn("run {}: {} changes, of which the worst {} become findings", run_id, events.size(),
                 kEventsKept);
    events.resize(kEventsKept);
  }
  RunContext context{.run_id = run_id, .now = now, .series = by_id_of(all)};
  if (!events.empty())
    for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes)))
      context.node_ids[node.name] = node.node_id;
  for (const RunEvent& event : events) {
    const store::SeriesRow& first = context.series.at(event.series.front().series)->series;
    const bool is_new = RG_TRY(keep(store, context, event, traits_of(first).delta));
    if (is_new && run.trigger == "schedule" && run.requested_by != kRunJudgeWho)
      fresh.push_back(first);
  }
  RG_TRY_OK(end_what_is_back(store, all, run_id, now));
  if (run.requested_by != kRunJudgeWho) RG_TRY_OK(judge_parts_of_run(store, run, now, leaves));
  return fresh;
}

// The suite is text, so that it passes the same reader and limits as a person's suite.
Result<ConfirmingRun> confirming_run(const std::vector<store::SeriesRow>& series,
                                     const std::vector<std::string>& known_nodes) {
  constexpr std::size_t kMostConfirmed = 3;  // the worst; the next night looks at the others
  ConfirmingRun out;
  std::set<std::string> nodes;
  std::string stages;
  std::size_t count = 0;
  for (const store::SeriesRow& one : series) {
    if (one.endpoints.empty() || one.endpoints.size() > 2 || count == kMostConfirmed) continue;
    ++count;
    nodes.merge(nodes_of(one));
    stages +=
        fmt::format("  - name: confirm{}\n    kernel: {}\n    parameters: {{", count, one.kernel);
    std::string parameters;
    for (const auto& [name, value] : one.parameters)
      if (name != "sizes")
        parameters += fmt::format("{}{}: '{}'", parameters.empty() ? "" : ", ", name, value);
    if (one.message_bytes > 0)
      parameters +=
          fmt::format("{}sizes: '{:.0f}'", parameters.empty() ? "" : ", ", one.message_bytes);
    stages += fmt::format(
        "{}}}\n    placement: {}\n    repetitions: 3\n", parameters,
        one.endpoints.size() == 2 ? "{pairs: all, directions: both, rails: same}" : "{local: all}");
  }
  if (count == 0) return fail(Code::kNotFound, "nothing that a few nodes can confirm");
  out.nodes.assign(nodes.begin(), nodes.end());
  for (const std::string& node : known_nodes)
    if (!nodes.contains(node)) {
      out.nodes.push_back(node);  // what is slow with it as well is not the pair's
      break;
    }
  out.suite_text =
      "version: 1\nmetadata: {name: confirm, summary: what a night found is measured "
      "again}\nstages:\n" +
      stages;
  return out;
}

// Sets the flag under the lock that a running callback holds.
void RunJudge::stop() {
  const std::lock_guard confirming(confirming_);
  ending_ = true;
}

void RunJudge::want(const std::string& run_id) {
  if (!queue_.want(run_id))
    spdlog::warn("run {}: too many runs wait for their judgement; it is judged later", run_id);
}

void RunJudge::judge(const std::string& run_id) {
  if (ending_) return;
  const auto judged = judge_run(store_, run_id, fleet::unix_seconds(), leaves_, &ending_);
  if (judged) {
    const std::lock_guard confirming(confirming_);
    if (!ending_) judged_(run_id);
    if (!ending_ && !judged->empty()) confirm_(*judged);
  }
  if (!judged && judged.error().code != Code::kNotFound && judged.error().code != Code::kCancelled)
    spdlog::warn("run {}: not judged against its series' past: {}", run_id, judged.error().message);
  if (!judged) return;
  const Status marked = store_.write(store::write_judged, run_id, fleet::unix_seconds());
  if (!marked)
    spdlog::warn("run {}: nobody sees that it was judged: {}", run_id, marked.error().message);
}

// Runs that were judged meanwhile are forgotten with the next look.
Result<std::vector<std::string>> UnjudgedRuns::due(double until) {
  std::map<std::string, int> tries;
  std::vector<std::string> due;
  for (const std::string& run_id :
       RG_TRY(store_.read(store::read_unjudged, until - kPastSeconds, until))) {
    if (RG_TRY(store_.read(store::is_cut_short, run_id))) continue;
    const auto known = tries_.find(run_id);
    const int before = known == tries_.end() ? 0 : known->second;
    tries[run_id] = before + 1;
    if (before < kMostTries)
      due.push_back(run_id);
    else if (before == kMostTries)
      RG_TRY_OK(store_.add_event(
          {.kind = "run_not_judged",
           .run_id = run_id,
           .text = fmt::format("not judged in {} tries: the log has the error of each; its figures "
                               "and findings of other runs stay",
                               kMostTries)}));
  }
  tries_ = std::move(tries);
  return due;
}

// --- findings that are over ---

namespace {

// Newest findings among which those that may be over are searched.
constexpr std::uint32_t kFindingsCompared = 1'000;
// Runs over which a spread is measured again; the deviation of fewer is too uncertain.
constexpr std::size_t kBackSpreadRuns = 12;
// Runs of the better mode that end a mix of modes: three in a row are chance.
constexpr std::size_t kBackModeRuns = 8;
// The factor by which a spread may exceed the earlier one and count as back.
constexpr double kSpreadSlack = 1.25;

// Reports whether the last runs scatter as they did before the spread grew.
bool is_calm(const SeriesRuns& runs, double deviation_before) {
  if (runs.values.size() < kBackSpreadRuns) return false;
  const std::span newest = std::span(runs.values).last(kBackSpreadRuns);
  double mean = 0;
  for (const double value : newest) mean += value / kBackSpreadRuns;
  double sum = 0;
  for (const double value : newest) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / (kBackSpreadRuns - 1)) <= kSpreadSlack * deviation_before;
}

// Reports whether the last runs are within the bound of the level before; a spread compares
// deviations.
bool is_back(const SeriesRuns& runs, MovedKind kind, double before) {
  if (kind == MovedKind::kVariance) return is_calm(runs, before);
  const std::size_t asked = kind == MovedKind::kModeMix ? kBackModeRuns : kBackRuns;
  if (runs.values.size() < asked) return false;
  for (std::size_t i = runs.values.size() - asked; i < runs.values.size(); ++i) {
    const double change = runs.values[i] / before - 1;
    if ((runs.series.larger_is_better ? -change : change) > traits_of(runs.series).delta)
      return false;
  }
  return true;
}

// How many series of a finding are back, and where they were measured.
struct ReturnCounts {
  // Series with a known level of before.
  std::size_t all = 0;
  // Series that the run measured, and those of them that are back.
  std::size_t measured = 0;
  std::size_t back = 0;
  // Series that are back by the other runs that measured them last.
  std::size_t elsewhere = 0;
  // One series that the run did not measure is as bad as it was found.
  bool is_bad = false;
};

// Counts a series that the run did not measure, by the newest runs that did. Only a run after the
// finding's own can show that the series is still bad.
Status look_elsewhere(const store::Store& store, const store::FindingRow& finding, MovedKind kind,
                      const store::FindingSeriesRow& series, RunTimes& made, ReturnCounts& out) {
  store::HistoryRow history = RG_TRY(store.history(series.series, std::nullopt, kPointsOfSeries));
  SeriesRuns runs;
  runs.series = std::move(history.series);
  RG_TRY_OK(take_runs(history.points, made, runs));
  if (runs.values.empty()) return {};
  if (is_back(runs, kind, *series.before)) {
    ++out.elsewhere;
    return {};
  }
  const auto found_at = made.of(finding.run_id);  // its run may be gone
  const bool is_since = RG_TRY(made.of(runs.runs.back())) > found_at.value_or(0);
  const bool has_level = kind != MovedKind::kVariance && kind != MovedKind::kModeMix;
  out.is_bad = out.is_bad || (is_since && has_level &&
                              worse_by(runs.series, *series.before, runs.values.back()) >
                                  traits_of(runs.series).delta);
  return {};
}

// Reports whether the finding is over. `back` is the number of series of this run that are back.
Result<bool> is_over(const store::Store& store, const store::FindingRow& finding, MovedKind kind,
                     const SeriesById& by_id, RunTimes& made, std::size_t& back) {
  ReturnCounts counts;
  for (const store::FindingSeriesRow& series : finding.series) {
    if (!series.before) continue;
    ++counts.all;
    const auto found = by_id.find(series.series);
    if (found == by_id.end()) continue;
    ++counts.measured;
    counts.back += is_back(*found->second, kind, *series.before) ? 1 : 0;
  }
  back = counts.back;
  if (counts.measured == 0 || counts.back < counts.measured) return false;
  for (const store::FindingSeriesRow& series : finding.series)
    if (series.before && !by_id.contains(series.series))
      RG_TRY_OK(look_elsewhere(store, finding, kind, series, made, counts));
  return !counts.is_bad && 2 * (counts.back + counts.elsewhere) >= counts.all;
}

}  // namespace

// Findings of other authors and of upgrades are left to those.
Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now) {
  const SeriesById by_id = by_id_of(all);
  RunTimes made(store);
  for (const store::FindingRow& row :
       RG_TRY(store.read(store::read_findings, {}, kFindingsCompared))) {
    const std::optional<MovedKind> kind = moved_kind_of(row.kind);
    if (!api::is_open(row.state) || !row.upgrade_id.empty() || !kind) continue;
    const store::FindingRow whole = RG_TRY(store.read(store::read_finding, row.finding_id));
    std::size_t back = 0;
    if (!RG_TRY(is_over(store, whole, *kind, by_id, made, back))) continue;
    RG_TRY_OK(
        store.write(store::write_finding_step, row.finding_id,
                    {.at = now,
                     .who = std::string(kRunJudgeWho),
                     .action = "resolve",
                     .text = fmt::format("run {}: as before again, in {} series", run_id, back)}));
  }
  return {};
}

}  // namespace railgauge

#include "controller/run_judge.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <span>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/analysis/metric_traits.h"
#include "controller/measured_twice.h"
#include "kernels/core/outcome.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kPoints = 270;   // newest ones of a series: 90 runs of three launches
constexpr std::size_t kEventsKept = 50;  // of one run, the worst; more say that the run is at fault
constexpr std::uint32_t kFindings = 1'000;
constexpr double kPercent = 100;

// Of two the mean: a pair that was measured twice is no better for it.
double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// One figure a run, in the order of the runs' first points.
void take_runs(const std::vector<store::HistoryPointRow>& points, SeriesRuns& out) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> runs;
  for (const store::HistoryPointRow& point : points) {
    if (point.outcome != kPassed || !(point.median > 0)) continue;
    auto& values = runs[point.run_id];
    if (values.empty()) order.push_back(point.run_id);
    values.push_back(point.median);
  }
  for (const std::string& run : order) out.values.push_back(median_of(runs[run]));
  out.runs = std::move(order);
}

std::string id_of(const RunEvent& event) {
  return fmt::format("{}-{}-{}", event.kind, finding_word(event.where), finding_word(event.metric));
}

store::FindingRow finding_of(const RunEvent& event, const std::string& run_id,
                             const std::map<std::string, std::string>& node_ids, double now) {
  store::FindingRow row{.finding_id = id_of(event),
                        .kind = event.kind,
                        .severity = "warning",
                        .run_id = run_id,
                        .suspect = event.where,
                        .opened_at = now,
                        .worse = event.worse,
                        .series = event.series};
  if (const auto node = node_ids.find(event.node); node != node_ids.end())
    row.node_id = node->second;
  row.summary = fmt::format("{}: {} of {} series, {:.1f} % worse ({}{}{})", event.where,
                            event.metric, event.series.size(), kPercent * event.worse, event.kind,
                            event.detail.empty() ? "" : " ", event.detail);
  row.evidence = fmt::format(R"({{"p": {:.3g}, "series": {}}})", event.p, event.series.size());
  return row;
}

// A second run that shows it confirms it; what a person has settled stays, unless it got worse by
// the bound, or was said to be over. Whether it is new.
Result<bool> keep(store::Store& store, store::FindingRow finding, double delta) {
  const auto known = store.finding(finding.finding_id);
  if (!known && known.error().code == Code::kNotFound) {
    RG_TRY_OK(store.open_finding(std::move(finding)));
    return true;
  }
  if (!known) return tl::unexpected(known.error());
  const std::string& state = known->state;
  const bool is_new = state == "new" || state == "reopened";
  if (is_new && known->run_id == finding.run_id) return false;  // judged twice
  const bool grew = finding.worse.value_or(0) > known->worse.value_or(0) + delta;
  const bool opens = state == "fixed" ||
                     (grew && (state == "accepted" || state == "false" || state == "acknowledged"));
  if (!is_new && !opens) return false;
  store::FindingStepRow step{.at = finding.opened_at,
                             .who = std::string(kRunJudgeWho),
                             .action = is_new ? "confirm" : "reopen",
                             .text = fmt::format("run {}: {}", finding.run_id, finding.summary)};
  RG_TRY_OK(store.renew_finding(std::move(finding), std::move(step)));
  return opens;
}

constexpr std::size_t kBackSpreadRuns = 12;  // what fewer scatter by says little
constexpr std::size_t kBackModeRuns = 8;  // of two modes, three runs of the better one are chance
constexpr double kSpreadSlack = 1.25;

// Whether the last runs scatter as they did before the spread grew.
bool is_calm(const SeriesRuns& runs, double deviation_before) {
  if (runs.values.size() < kBackSpreadRuns) return false;
  const std::span newest = std::span(runs.values).last(kBackSpreadRuns);
  double mean = 0;
  for (const double value : newest) mean += value / kBackSpreadRuns;
  double sum = 0;
  for (const double value : newest) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / (kBackSpreadRuns - 1)) <= kSpreadSlack * deviation_before;
}

// Whether the last runs are within the bound of what was there before.
bool is_back(const SeriesRuns& runs, const std::string& kind, double before) {
  if (kind == "variance") return is_calm(runs, before);
  const std::size_t asked = kind == "mode_mix" ? kBackModeRuns : kBackRuns;
  if (runs.values.size() < asked) return false;
  const analysis::MetricTraits traits =
      analysis::traits_of(runs.series.unit, runs.series.larger_is_better, "median");
  for (std::size_t i = runs.values.size() - asked; i < runs.values.size(); ++i) {
    const double change = runs.values[i] / before - 1;
    if ((runs.series.larger_is_better ? -change : change) > traits.delta) return false;
  }
  return true;
}

// Whether what the run itself measured of the event's series is still as bad, or half as bad, in
// most of them: the runs before it are why the event is there at all.
bool shows(const std::vector<SeriesRuns>& all, const RunEvent& event) {
  if (event.kind == "variance" || event.kind == "mode_mix" || event.kind == "knee")
    return true;  // one figure tells nothing, and a knee's share is of sizes, not of levels
  std::size_t bad = 0;
  for (const store::FindingSeriesRow& series : event.series) {
    const auto runs = std::ranges::find_if(
        all, [&](const SeriesRuns& one) { return one.series.series_id == series.series; });
    if (runs == all.end() || !series.before || !(*series.before > 0)) continue;
    const double change = runs->values.back() / *series.before - 1;
    bad += (runs->series.larger_is_better ? -change : change) >= event.worse / 2 ? 1 : 0;
  }
  return 2 * bad > event.series.size();
}

// Ends findings of this judge whose series, as far as the run measured them, are all back.
Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now) {
  std::map<std::int64_t, const SeriesRuns*> by_id;
  for (const SeriesRuns& one : all) by_id[one.series.series_id] = &one;
  for (const store::FindingRow& row : RG_TRY(store.list_findings("", kFindings))) {
    const bool is_open = row.state == "new" || row.state == "confirmed" ||
                         row.state == "reopened" || row.state == "acknowledged";
    constexpr std::array<std::string_view, 6> kOurs{"step",     "drift",    "peer",
                                                    "variance", "mode_mix", "knee"};
    const bool is_ours =
        row.upgrade_id.empty() && std::ranges::find(kOurs, row.kind) != kOurs.end();
    if (!is_open || !is_ours) continue;
    const store::FindingRow whole = RG_TRY(store.finding(row.finding_id));
    std::size_t measured = 0;
    std::size_t back = 0;
    for (const store::FindingSeriesRow& series : whole.series) {
      const auto found = by_id.find(series.series);
      if (found == by_id.end() || !series.before) continue;
      ++measured;
      back += is_back(*found->second, row.kind, *series.before) ? 1 : 0;
    }
    if (measured == 0 || back < measured) continue;
    RG_TRY_OK(store.step_finding(
        row.finding_id,
        {.at = now,
         .who = std::string(kRunJudgeWho),
         .action = "resolve",
         .text = fmt::format("run {}: as before again, in {} series", run_id, back)}));
  }
  return {};
}

}  // namespace

Result<std::vector<SeriesRuns>> series_of_run(const store::Store& store,
                                              const std::string& run_id) {
  std::set<std::int64_t> ids;
  for (const store::SidePointRow& point : RG_TRY(store.side_points({run_id})))
    ids.insert(point.series);
  std::vector<SeriesRuns> all;
  for (const std::int64_t id : ids) {
    store::HistoryRow history = RG_TRY(store.history(id, std::nullopt, kPoints));
    SeriesRuns& one = all.emplace_back();
    one.series = std::move(history.series);
    take_runs(history.points, one);
  }
  return all;
}

Result<std::vector<store::SeriesRow>> judge_run(store::Store& store, const std::string& run_id,
                                                double now) {
  std::vector<store::SeriesRow> fresh;
  const store::RunRow run = RG_TRY(store.run_summary(run_id)).run;
  if (run.trigger == "upgrade") return fresh;
  const std::vector<SeriesRuns> all = RG_TRY(series_of_run(store, run_id));
  RG_TRY_OK(keep_repeats(store, run_id, all, now));
  std::vector<RunEvent> events = events_of(all);
  if (run.requested_by == kRunJudgeWho)
    std::erase_if(events, [&](const RunEvent& event) { return !shows(all, event); });
  std::ranges::sort(events, std::greater(), &RunEvent::worse);
  if (events.size() > kEventsKept) {
    spdlog::warn("run {}: {} changes, of which the worst {} become findings", run_id, events.size(),
                 kEventsKept);
    events.resize(kEventsKept);
  }
  std::map<std::string, std::string> node_ids;
  if (!events.empty())
    for (const store::NodeRow& node : RG_TRY(store.list_nodes()))
      node_ids[node.name] = node.node_id;
  std::map<std::int64_t, const SeriesRuns*> by_id;
  for (const SeriesRuns& one : all) by_id[one.series.series_id] = &one;
  for (const RunEvent& event : events) {
    const store::SeriesRow& first = by_id.at(event.series.front().series)->series;
    const double delta = analysis::traits_of(first.unit, first.larger_is_better, "median").delta;
    const bool is_new = RG_TRY(keep(store, finding_of(event, run_id, node_ids, now), delta));
    if (is_new && run.trigger == "schedule" && run.requested_by != kRunJudgeWho)
      fresh.push_back(first);
  }
  RG_TRY_OK(end_what_is_back(store, all, run_id, now));
  return fresh;
}

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
    for (const std::string& text : one.endpoints) nodes.insert(text.substr(0, text.find('/')));
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

void RunJudge::stop() {
  const std::lock_guard telling(telling_);
  ending_ = true;
}

void RunJudge::want(const std::string& run_id) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.insert(run_id).second) return;
  }
  const bool taken = pool_.submit([this, run_id] {
    {
      const std::lock_guard lock(mutex_);
      waiting_.erase(run_id);
    }
    if (ending_) return;
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto judged = judge_run(store_, run_id, now);
    if (judged && !judged->empty()) {
      const std::lock_guard telling(telling_);
      if (!ending_) confirm_(*judged);
    }
    if (!judged && judged.error().code != Code::kNotFound)
      spdlog::warn("run {}: not judged against its series' past: {}", run_id,
                   judged.error().message);
  });
  if (taken) return;
  const std::lock_guard lock(mutex_);
  waiting_.erase(run_id);
}

}  // namespace railgauge

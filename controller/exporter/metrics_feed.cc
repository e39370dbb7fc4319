#include "controller/exporter/metrics_feed.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <variant>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/findings/run/measured_twice.h"
#include "controller/history/pair_figures.h"
#include "controller/schedule/schedule.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {
constexpr std::uint32_t kMostRows = 20'000;
constexpr double kQuerySeconds = 5;
constexpr double kRepeatsStandSeconds = 300;  // they grow once a night, and all events are read
constexpr double kPauseStandsSeconds = 3600;
constexpr double kMedian = 0.5;
constexpr double kLowTail = 0.01;
constexpr double kHighTail = 0.99;
constexpr double kSecondsPerNanosecond = 1e-9;
// What a finding has to say of its state to be shown no more.
constexpr const char* kOver = "('resolved', 'accepted', 'fixed', 'false')";

std::string text_of(const store::SqlValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

double number_of(const store::SqlValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

using SqlRows = std::vector<std::vector<store::SqlValue>>;

// Rows of a query of ours. Absent where it fails, which is said: what is shown then stays, since no
// rows would end alerts.
std::optional<SqlRows> rows_of(store::Store& store, const std::string& query) {
  auto table = store.sql(query, kMostRows, kQuerySeconds);
  if (table) return std::move(table->rows);
  spdlog::warn("metrics: {}", table.error().message);
  return std::nullopt;
}

// The value below which `share` of them are; `values` is not empty.
double quantile_of(std::vector<float>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

const char* distance_of(const localise::PairData& data, std::size_t from, std::size_t to) {
  if (data.leaf_of.empty() || data.leaf_of[from] < 0 || data.leaf_of[to] < 0) return "unknown";
  return data.leaf_of[from] == data.leaf_of[to] ? "same_leaf" : "cross_leaf";
}

void add_layer(const PairFigures& figures, const localise::Layer& layer,
               std::vector<WorstPair>& pairs) {
  std::vector<float> measured;
  for (const float value : layer.values)
    if (value > 0) measured.push_back(value);
  if (measured.empty()) return;
  const double median = quantile_of(measured, kMedian);
  const std::size_t nodes = figures.data.nodes.size();
  for (std::size_t at = 0; at < layer.values.size(); ++at) {
    const double value = layer.values[at];
    if (!(value > 0)) continue;
    pairs.push_back({.kernel = figures.series.kernel,
                     .from = figures.data.nodes[at / nodes],
                     .to = figures.data.nodes[at % nodes],
                     .rail = layer.rail,
                     .memory = layer.memory,
                     .ratio = figures.series.larger_is_better ? value / median : median / value});
  }
}

// Of what a run has beside bandwidth, the latency of its smallest messages; nullptr: none.
const PairSeries* latency_beside(const PairFigures& figures) {
  const PairSeries* found = nullptr;
  for (const PairSeries& series : figures.others)
    if (figures.series.larger_is_better && !series.larger_is_better && series.unit == "ns" &&
        (found == nullptr || series.message_bytes < found->message_bytes))
      found = &series;
  return found;
}
}  // namespace

std::vector<RailFigure> rail_figures(const PairFigures& figures) {
  std::vector<RailFigure> rails;
  const std::size_t nodes = figures.data.nodes.size();
  const bool is_latency = !figures.series.larger_is_better;
  const double scale = figures.series.unit == "ns" ? kSecondsPerNanosecond : 1;
  for (const localise::Layer& layer : figures.data.layers) {
    std::map<std::string, std::vector<float>> by_distance;
    for (std::size_t at = 0; at < layer.values.size(); ++at)
      if (layer.values[at] > 0)
        by_distance[distance_of(figures.data, at / nodes, at % nodes)].push_back(layer.values[at]);
    for (auto& [distance, values] : by_distance)
      rails.push_back(
          {.kernel = figures.series.kernel,
           .is_latency = is_latency,
           .rail = layer.rail,
           .memory = layer.memory,
           .distance = distance,
           .median = quantile_of(values, kMedian) * scale,
           .worst_percent = quantile_of(values, is_latency ? kHighTail : kLowTail) * scale});
  }
  return rails;
}

std::vector<WorstPair> worst_pairs(const PairFigures& figures, std::size_t count) {
  std::vector<WorstPair> worst;
  for (const localise::Layer& layer : figures.data.layers) {
    add_layer(figures, layer, worst);
    const std::size_t kept = std::min(count, worst.size());
    std::partial_sort(worst.begin(), worst.begin() + static_cast<std::ptrdiff_t>(kept), worst.end(),
                      [](const WorstPair& a, const WorstPair& b) { return a.ratio < b.ratio; });
    worst.resize(kept);
  }
  return worst;
}

void MetricsFeed::restore(double now) {
  const std::lock_guard lock(updating_);
  update_quick(now);  // first: schedules say which suites matter most
  const auto passes = rows_of(
      store_, fmt::format("SELECT suite, max(ended_at) FROM run WHERE outcome = '{}' GROUP BY "
                          "suite ORDER BY max(id) DESC",
                          kPassed));
  const auto newest = rows_of(
      store_,
      "SELECT suite, outcome, ended_at FROM run WHERE id IN (SELECT max(id) FROM run WHERE state = "
      "'ended' GROUP BY suite) ORDER BY id DESC");
  if (!passes || !newest) return;
  std::map<std::string, double> passed;
  for (const auto& row : *passes) passed[text_of(row[0])] = number_of(row[1]);
  std::vector<SuiteEnd> ends;
  for (const auto& row : *newest) {
    SuiteEnd& end = ends.emplace_back();
    end = {.suite = text_of(row[0]), .outcome = text_of(row[1]), .unix_seconds = number_of(row[2])};
    if (const auto found = passed.find(end.suite); found != passed.end())
      end.passed_unix_seconds = found->second;
  }
  metrics_.restore_runs(ends);
}

void MetricsFeed::update(double now) {
  const std::lock_guard lock(updating_);
  update_quick(now);
  update_pairs();
}

void MetricsFeed::update_quick(double now) {
  metrics_.sample_process();
  update_store();
  update_findings(now);
  update_repeats(now);
  update_schedules(now);
  update_known_nodes(now);
}

std::shared_ptr<const std::vector<std::string>> MetricsFeed::known_nodes() const {
  const std::lock_guard lock(mutex_);
  return known_nodes_;
}

void MetricsFeed::update_store() {
  const Result<store::StoreStats> stats = store_.stats();
  if (!stats) return spdlog::warn("store: {}", stats.error().message);
  metrics_.set_store(stats->queued_records, stats->file_bytes, stats->failed_batches);
  metrics_.set_orphans(stats->orphan_records, stats->orphans_dropped);
  std::error_code error;
  const auto space =
      std::filesystem::space(std::filesystem::absolute(database_path_, error).parent_path(), error);
  if (!error)
    metrics_.set_store_limits(static_cast<double>(store::StoreOptions().max_queued_records),
                              static_cast<double>(space.available));
}

// An acknowledgement that ran out is none any more, as `railgauge findings` has it.
void MetricsFeed::update_findings(double now) {
  const auto open = rows_of(
      store_, fmt::format("SELECT kind, iif(state = 'acknowledged' AND acknowledged_until < "
                          "{}, 'reopened', state) AS shown, severity, count(*) FROM finding "
                          "WHERE state NOT IN {} GROUP BY kind, shown, severity",
                          now, kOver));
  const auto named =
      rows_of(store_, fmt::format("SELECT kernel, metric, count(DISTINCT series.id) FROM finding "
                                  "JOIN finding_series ON finding_series.finding = finding.id JOIN "
                                  "series ON series.id = finding_series.series WHERE finding.state "
                                  "NOT IN {} GROUP BY kernel, metric",
                                  kOver));
  if (!open || !named) return;
  LabelledCounts findings;
  for (const auto& row : *open)
    findings[{
        {"kind", text_of(row[0])}, {"state", text_of(row[1])}, {"severity", text_of(row[2])}}] =
        number_of(row[3]);
  LabelledCounts regressions;
  for (const auto& row : *named)
    regressions[{{"kernel", text_of(row[0])}, {"metric", text_of(row[1])}}] = number_of(row[2]);
  metrics_.set_findings(findings, regressions);
}

// How often the judge errs here, measured.
void MetricsFeed::update_repeats(double now) {
  if (now < repeats_stand_until_) return;
  const auto repeats = repeats_since(store_, now - kRepeatSeconds);
  if (!repeats) return spdlog::warn("metrics: {}", repeats.error().message);
  repeats_stand_until_ = now + kRepeatsStandSeconds;
  const Repeats counted = repeats->value_or(Repeats());
  metrics_.set_repeats(static_cast<double>(counted.figures), static_cast<double>(counted.apart));
}

// Looking at the next starts of 200 schedules each time would be work for nothing.
std::optional<double> MetricsFeed::pause_of(const store::ScheduleRow& row, double now) {
  const std::string words =
      fmt::format("{}|{}|{}|{}", row.cron, row.zone, row.windows, row.blackouts);
  Pause& known = pauses_[row.name];
  if (known.words == words && now < known.until) return known.seconds;
  known = {.words = words, .until = now + kPauseStandsSeconds};
  const auto schedule = run::compile({.name = row.name,
                                      .cron = row.cron,
                                      .zone = row.zone,
                                      .windows = row.windows,
                                      .blackouts = row.blackouts});
  if (schedule) known.seconds = run::longest_pause(*schedule, now);
  return known.seconds;
}

void MetricsFeed::update_schedules(double now) {
  const auto rows = store_.list_schedules();
  if (!rows) return spdlog::warn("metrics: {}", rows.error().message);
  const auto dues = rows_of(store_,
                            "SELECT name, min(due_at) FROM schedule JOIN schedule_due ON "
                            "schedule_due.schedule = schedule.id GROUP BY name");
  if (!dues) return;
  std::map<std::string, double> first_dues;
  for (const auto& row : *dues) first_dues[text_of(row[0])] = number_of(row[1]);
  std::vector<ScheduleState> states;
  for (const store::ScheduleRow& row : *rows) {
    const store::DueRow newest = row.newest.value_or(store::DueRow());
    states.push_back({.name = row.name,
                      .suite = row.suite,
                      .enabled = !row.paused,
                      .result = newest.result,
                      .due_unix_seconds = newest.due_at,
                      .pause_seconds = pause_of(row, now)});
    if (const auto first = first_dues.find(row.name); first != first_dues.end())
      states.back().first_due_unix_seconds = first->second;
  }
  metrics_.set_schedules(states);
  std::erase_if(pauses_, [&](const auto& known) {
    return std::ranges::find(states, known.first, &ScheduleState::name) == states.end();
  });
}

// A node that was installed anew has a row for each of its ids.
void MetricsFeed::update_known_nodes(double now) {
  const auto seen =
      rows_of(store_, fmt::format("SELECT DISTINCT name FROM node WHERE last_seen_at > {}",
                                  now - kKnownNodeSeconds));
  if (!seen) return;
  auto names = std::make_shared<std::vector<std::string>>();
  for (const auto& row : *seen) names->push_back(text_of(row[0]));
  const std::lock_guard lock(mutex_);
  known_nodes_ = std::move(names);
}

// A run without pairs leaves the last one's.
void MetricsFeed::update_pairs() {
  const std::uint64_t written = matrices_written_ ? matrices_written_() : 0;
  const auto newest =
      rows_of(store_,
              "SELECT run_id, coalesce(ended_at, created_at) FROM run WHERE id = (SELECT run FROM "
              "pair_matrix WHERE rail >= 0 ORDER BY run DESC LIMIT 1)");
  if (!newest || newest->empty()) return;
  const std::vector<store::SqlValue>& row = newest->front();
  const std::pair wanted(text_of(row[0]), written);
  if (shown_ == wanted) return;
  api::PairsRequest request;
  request.set_run_id(wanted.first);
  const auto figures = read_pair_figures(store_, request, leaves_);
  if (!figures) {
    const Code code = figures.error().code;
    // What may pass is tried again.
    if (code != Code::kUnavailable && code != Code::kDeadlineExceeded) shown_ = wanted;
    return spdlog::warn("metrics: {}", figures.error().message);
  }
  std::vector<RailFigure> rails = rail_figures(*figures);
  if (const PairSeries* latency = latency_beside(*figures)) {
    request.set_kernel(latency->kernel);
    request.set_metric(latency->metric);
    request.set_message_bytes(latency->message_bytes);
    if (const auto other = read_pair_figures(store_, request, leaves_))
      for (RailFigure& figure : rail_figures(*other)) rails.push_back(std::move(figure));
  }
  metrics_.set_pairs(worst_pairs(*figures, metric::kWorstPairs), rails, number_of(row[1]));
  shown_ = wanted;
}

}  // namespace railgauge

#include "controller/exporter/metrics_feed.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/findings/changes/measured_twice.h"
#include "controller/history/pair_figures.h"
#include "controller/schedule/schedule.h"

namespace railgauge {
namespace {
constexpr double kRepeatsStandSeconds = 300;  // they grow once a night, and all events are read
constexpr double kPauseStandsSeconds = 3600;
constexpr double kMedian = 0.5;
constexpr double kLowTail = 0.01;
constexpr double kHighTail = 0.99;
constexpr double kSecondsPerNanosecond = 1e-9;

// The rows of a query. Absent where it fails, which is logged: the metric then keeps its last
// value, since no rows would end alerts.
template <class Value>
std::optional<Value> value_or_warn(Result<Value> read) {
  if (read) return std::move(*read);
  spdlog::warn("metrics: {}", read.error().message);
  return std::nullopt;
}

// The value below which `share` of them are; `values` is not empty.
double quantile_of(std::vector<float>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// "unknown" where the leaf of either node is not known.
const char* distance_of(const localise::PairData& data, std::size_t from, std::size_t to) {
  if (data.leaf_of.empty() || data.leaf_of[from] < 0 || data.leaf_of[to] < 0) return "unknown";
  return data.leaf_of[from] == data.leaf_of[to] ? "same_leaf" : "cross_leaf";
}

// Adds every measured pair of one rail and memory with its ratio to the layer's median. The ratio
// is below 1 for slow pairs, so that bandwidth and latency sort alike.
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

// The latency of the smallest messages that the run has beside its bandwidth; nullptr: none.
const PairSeries* latency_beside(const PairFigures& figures) {
  const PairSeries* found = nullptr;
  for (const PairSeries& series : figures.others)
    if (figures.series.larger_is_better && !series.larger_is_better && series.unit == "ns" &&
        (found == nullptr || series.message_bytes < found->message_bytes))
      found = &series;
  return found;
}
}  // namespace

// Zero marks a pair without a figure and is left out.
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

// Layers are merged one by one and cut each time, so that memory is bounded by one layer.
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

// Pairs are left to update(), because their matrices are large.
void MetricsFeed::restore(double now) {
  const std::lock_guard lock(updating_);
  update_quick(now);  // first: schedules say which suites matter most
  const auto newest = value_or_warn(store_.read(store::read_suite_ends));
  if (!newest) return;
  std::vector<SuiteEnd> ends;
  for (const store::SuiteEndRow& row : *newest) {
    ends.push_back({.suite = row.suite, .outcome = row.outcome, .unix_seconds = row.ended_at});
    if (row.passed_at > 0) ends.back().passed_unix_seconds = row.passed_at;
  }
  metrics_.restore_runs(ends);
}

void MetricsFeed::update(double now) {
  const std::lock_guard lock(updating_);
  update_quick(now);
  read_stored_targets(now);
  update_pairs();
}

// Everything that costs one indexed query each.
void MetricsFeed::update_quick(double now) {
  metrics_.sample_process();
  update_store();
  update_findings(now);
  update_repeats(now);
  update_schedules(now);
  update_known_nodes(now);
}

// The list is replaced as a whole, so a caller may keep it without a lock.
std::shared_ptr<const std::vector<std::string>> MetricsFeed::known_nodes() const {
  const std::lock_guard lock(mutex_);
  return known_nodes_;
}

// Free space is that of the file system which holds the database.
void MetricsFeed::update_store() {
  if (const std::optional<bool> is_synthetic = data_mark_.is_synthetic(); is_synthetic)
    metrics_.series().set("railgauge_data_synthetic", {}, *is_synthetic ? 1 : 0);
  const Result<store::StoreStats> stats = store_.stats();
  if (!stats) return spdlog::warn("store: {}", stats.error().message);
  metric::Registry& series = metrics_.series();
  series.set("railgauge_store_queue_depth", {}, stats->queued_records);
  series.set("railgauge_db_size_bytes", {}, stats->file_bytes);
  series.raise_to("railgauge_store_failed_batches_total", {}, stats->failed_batches);
  series.set("railgauge_orphan_records", {}, stats->orphan_records);
  series.raise_to("railgauge_orphan_records_dropped_total", {}, stats->orphans_dropped);
  for (const auto& [fault, count] : stats->refused_records)
    series.raise_to("railgauge_records_refused_total", {{"fault", fault}}, count);
  std::error_code error;
  const auto space =
      std::filesystem::space(std::filesystem::absolute(database_path_, error).parent_path(), error);
  if (error) return;
  series.set("railgauge_store_queue_limit", {},
             static_cast<double>(store::StoreOptions().max_queued_records));
  series.set("railgauge_db_free_bytes", {}, static_cast<double>(space.available));
}

// An acknowledgement that ran out is none any more, as `railgauge findings` has it.
void MetricsFeed::update_findings(double now) {
  const auto open = value_or_warn(store_.read(store::count_open_findings, now));
  const auto named = value_or_warn(store_.read(store::count_open_series));
  const auto first = value_or_warn(store_.read(store::read_first_findings, now));
  if (!open || !named || !first) return;
  LabelledCounts confirmed;
  for (const std::string& finding : *first) confirmed[{{"finding", finding}}] = 1;
  LabelledCounts findings;
  for (const store::FindingCountRow& row : *open)
    findings[{{"kind", row.kind}, {"state", row.state}, {"severity", row.severity}}] = row.findings;
  LabelledCounts regressions;
  for (const store::OpenSeriesRow& row : *named)
    regressions[{{"kernel", row.kernel}, {"metric", row.metric}}] = row.series;
  metrics_.series().replace("railgauge_findings", findings);
  metrics_.series().replace("railgauge_finding_confirmed", confirmed);
  metrics_.series().replace("railgauge_regression_active", regressions);
}

// How often the judge errs here, measured.
void MetricsFeed::update_repeats(double now) {
  if (now < repeats_stand_until_) return;
  const auto repeats = value_or_warn(store_.read(store::sum_repeat_counts, now - kRepeatSeconds));
  if (!repeats) return;
  repeats_stand_until_ = now + kRepeatsStandSeconds;
  const store::RepeatCounts counted = repeats->value_or(store::RepeatCounts());
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

// Pauses of schedules that were removed are forgotten here.
void MetricsFeed::update_schedules(double now) {
  const auto rows = store_.list_schedules();
  if (!rows) return spdlog::warn("metrics: {}", rows.error().message);
  const auto first_dues = value_or_warn(store_.read(store::read_first_dues));
  if (!first_dues) return;
  std::vector<ScheduleState> states;
  for (const store::ScheduleRow& row : *rows) {
    states.push_back({.name = row.name,
                      .suite = row.suite,
                      .enabled = !row.paused,
                      .result = row.newest ? std::string(text_of(row.newest->result)) : "",
                      .due_unix_seconds = row.newest ? row.newest->due_at : 0,
                      .pause_seconds = pause_of(row, now)});
    if (const auto first = first_dues->find(row.name); first != first_dues->end())
      states.back().first_due_unix_seconds = first->second;
  }
  metrics_.set_schedules(states);
  std::erase_if(pauses_, [&](const auto& known) {
    return std::ranges::find(states, known.first, &ScheduleState::name) == states.end();
  });
}

// A node that was installed anew has a row for each of its ids.
void MetricsFeed::update_known_nodes(double now) {
  auto seen = value_or_warn(store_.read(store::read_names_seen_since, now - kKnownNodeSeconds));
  if (!seen) return;
  auto names = std::make_shared<const std::vector<std::string>>(std::move(*seen));
  const std::lock_guard lock(mutex_);
  known_nodes_ = std::move(names);
}

std::shared_ptr<const std::map<std::string, ScrapeTarget>> MetricsFeed::stored_targets() const {
  const std::lock_guard lock(mutex_);
  return stored_targets_;
}

// Once: nodes that attach later are the fleet's. Facts take a second for thousands of nodes, so the
// start does not wait for them.
void MetricsFeed::read_stored_targets(double now) {
  if (stored_targets()) return;
  const auto rows = value_or_warn(store_.read(store::read_metrics_places, now - kKnownNodeSeconds));
  if (!rows) return;
  auto targets = std::make_shared<std::map<std::string, ScrapeTarget>>();
  for (const store::MetricsPlaceRow& row : *rows)
    (*targets)[row.node] = {
        .node = row.node, .peer = row.address, .metrics_port = row.metrics_port};
  const std::lock_guard lock(mutex_);
  stored_targets_ = std::move(targets);
}

// A run without pairs leaves the last one's.
void MetricsFeed::update_pairs() {
  const std::uint64_t written = matrices_written_ ? matrices_written_() : 0;
  const auto newest = value_or_warn(store_.read(store::read_newest_pair_run));
  if (!newest || !*newest) return;
  const std::pair wanted((*newest)->run_id, written);
  if (shown_ == wanted) return;
  api::PairsRequest request;
  request.set_run_id(wanted.first);
  const auto figures = read_pair_figures(store_, request, leaves_);
  if (!figures) {
    const Code code = figures.error().code;
    // A failure that may pass is tried again at the next update.
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
  metrics_.set_pairs(worst_pairs(*figures, metric::kWorstPairs), rails, (*newest)->at);
  shown_ = wanted;
}

}  // namespace railgauge

#include "controller/findings/run/measured_twice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/detect/changes.h"
#include "controller/stats/metric_traits.h"
#include "controller/upgrades/judge_sides.h"

namespace railgauge {
namespace {

constexpr double kOneIn20 = 1.96;  // standard deviations, either way
constexpr std::uint32_t kEvents = 10'000;
constexpr double kQuerySeconds = 5;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// "3 of 120 figures that were measured twice ...": ours, see keep_repeats().
Repeats read_text(const std::string& text) {
  Repeats out;
  if (std::sscanf(text.c_str(), "%zu of %zu figures", &out.apart, &out.figures) != 2) return {};
  return out;
}

// Of all events with that text, in SQL, which the store's own reader of events cannot bound by
// kind.
Result<std::vector<std::string>> texts_of(const store::Store& store, const std::string& condition) {
  const store::SqlTable table =
      RG_TRY(store.sql(fmt::format("SELECT text FROM event WHERE kind='{}' AND {} ORDER BY id DESC",
                                   kMeasuredTwiceKind, condition),
                       kEvents, kQuerySeconds));
  std::vector<std::string> texts;
  for (const auto& row : table.rows)
    if (const auto* text = std::get_if<std::string>(&row.at(0))) texts.push_back(*text);
  return texts;
}

}  // namespace

Repeats count_apart(std::span<const MeasuredTwice> figures) {
  std::map<std::string, std::vector<analysis::Noise>> noises;
  for (const MeasuredTwice& one : figures)
    if (const auto found = analysis::detect_changes(one.runs->values, {}); !found.too_few)
      noises[metric_text(one.runs->series, "")].push_back(found.noise);
  Repeats out;
  for (const MeasuredTwice& one : figures) {
    const store::SeriesRow& series = one.runs->series;
    analysis::DetectorSettings settings;
    settings.prior = analysis::pool(noises[metric_text(series, "")]);
    const analysis::Findings past = analysis::detect_changes(one.runs->values, settings);
    if (past.too_few || !past.relative || !(one.first > 0) || !(one.again > 0)) continue;
    ++out.figures;
    const analysis::MetricTraits traits =
        analysis::traits_of(series.unit, series.larger_is_better, "median");
    const double moved = std::abs(std::log(one.again / one.first));
    const double chance = kOneIn20 * std::numbers::sqrt2 * past.noise.scale;
    const double bound = analysis::log_worsening(traits.better, traits.delta);
    if (moved > std::max(chance, bound)) ++out.apart;
  }
  return out;
}

Status keep_repeats(store::Store& store, const std::string& run_id, std::span<const SeriesRuns> all,
                    double now) {
  std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> twice;
  for (const store::SidePointRow& point : RG_TRY(store.side_points({run_id}))) {
    auto& [first, again] = twice[point.series];
    (point.again ? again : first).push_back(point.median);
  }
  std::vector<MeasuredTwice> figures;
  for (const SeriesRuns& one : all) {
    const auto& [first, again] = twice[one.series.series_id];
    if (!first.empty() && !again.empty())
      figures.push_back({.runs = &one, .first = mean_of(first), .again = mean_of(again)});
  }
  const Repeats counted = count_apart(figures);
  if (counted.figures == 0) return {};
  store::EventRow event{.at = now, .kind = std::string(kMeasuredTwiceKind), .run_id = run_id};
  event.text = fmt::format(
      "{} of {} figures that were measured twice differ by more than the bound and their noise",
      counted.apart, counted.figures);
  RG_TRY_OK(store.flush());
  if (!RG_TRY(texts_of(store, fmt::format("run_id='{}'", run_id))).empty()) return {};
  return store.add_event(std::move(event));
}

Result<std::optional<Repeats>> repeats_since(const store::Store& store, double since) {
  std::optional<Repeats> sum;
  for (const std::string& text : RG_TRY(texts_of(store, fmt::format("at>={:.3f}", since)))) {
    const Repeats one = read_text(text);
    if (!sum) sum.emplace();
    sum->figures += one.figures;
    sum->apart += one.apart;
  }
  return sum;
}

}  // namespace railgauge

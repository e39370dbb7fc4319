#include "controller/cli/report/analysis_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/cli/render/output.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/plan_report.h"
#include "controller/detect/series_state.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using analysis::Better;
using analysis::Change;
using analysis::ChangeKind;

constexpr int kMostSpikesShown = 10;

// The file's row of a value: indices count rows, also where the reader sorted them by time.
std::uint32_t row_of(const SeriesFile& file, std::size_t index) {
  return static_cast<std::uint32_t>(file.rows[index]);
}

// Effects are percent where the series is relative or the spread changed, else in the series' unit.
void fill_change(const Change& change, const SeriesFile& file, bool relative,
                 std::optional<Better> better, AnalysedChange& out) {
  out.set_index(row_of(file, change.index));
  out.set_index_first(row_of(file, change.first));
  out.set_index_last(row_of(file, change.last));
  out.set_class_(std::string(analysis::word(change.kind)));
  if (!file.times.empty()) out.set_time(valid_utf8(file.times[change.index]));
  out.set_before(change.before);
  out.set_after(change.after);
  // Percent where the detector worked on ratios.
  const double scale = relative || change.kind == ChangeKind::kVariance ? 100 : 1;
  const double low = std::min(change.effect_low, change.effect_high) * scale;
  const double high = std::max(change.effect_low, change.effect_high) * scale;
  if (scale > 1) {
    out.set_effect_percent(change.effect * scale);
    out.set_effect_low_percent(low);
    out.set_effect_high_percent(high);
  } else {
    out.set_effect(change.effect);
    out.set_effect_low(low);
    out.set_effect_high(high);
  }
  if (change.kind != ChangeKind::kDrift) out.set_p(change.p);
  if (better && change.kind != ChangeKind::kVariance)
    out.set_worse((change.effect > 0) == (*better == Better::kLower));
}

// Six significant digits.
std::string number(double value) { return fmt::format("{:.6g}", value); }

// The effect with its interval; without one where both ends are equal.
std::string effect_text(const AnalysedChange& change) {
  const bool percent = change.has_effect_percent();
  const auto one = [&](double v) {
    return percent ? fmt::format("{:+.2f} %", v) : fmt::format("{:+.4g}", v);
  };
  const double middle = percent ? change.effect_percent() : change.effect();
  const double low = percent ? change.effect_low_percent() : change.effect_low();
  const double high = percent ? change.effect_high_percent() : change.effect_high();
  if (low == high) return one(middle);
  return fmt::format("{} ({} to {})", one(middle), one(low), one(high));
}

// Empty where no direction was given.
Cell verdict_cell(const AnalysedChange& change) {
  if (!change.has_worse()) return "";
  return change.worse() ? Cell("worse", Tone::kBad) : Cell("better", Tone::kGood);
}

}  // namespace

// Runs the detector that the controller uses, with a window for files.
AnalysedSeries analyse_series(const std::string& name, const SeriesFile& file,
                              std::optional<Better> better) {
  analysis::SeriesState state(analysis::kFileWindow);
  // Nothing is known of how well the file's figures repeat.
  const analysis::DetectorSettings settings{.least_noise = 0};
  state.append_all(file.values, settings);
  const analysis::Findings found = state.findings(settings);
  AnalysedSeries out;
  out.set_file(valid_utf8(name));
  for (const Change& change : found.changes)
    fill_change(change, file, found.relative, better, *out.add_changes());
  for (const analysis::Spike& spike : found.spikes) {
    AnalysedSpike& row = *out.add_spikes();
    row.set_index(row_of(file, spike.index));
    if (!file.times.empty()) row.set_time(valid_utf8(file.times[spike.index]));
    row.set_value(spike.value);
    row.set_expected(spike.expected);
  }
  out.set_points(static_cast<std::uint32_t>(file.values.size() - file.gaps));
  out.set_gaps(static_cast<std::uint32_t>(file.gaps));
  if (found.suspected_since) out.set_suspected_since_index(row_of(file, *found.suspected_since));
  if (!found.too_few && found.relative) out.set_noise_percent(100 * found.noise.marginal());
  for (const std::string& note : file.notes) out.add_notes(note);
  if (found.cycle_runs > 0)
    out.add_notes(
        fmt::format("a swing that repeats every {} points is no change", found.cycle_runs));
  if (found.too_few)
    out.add_notes(fmt::format("{} points: {} are needed before anything can be said over time",
                              out.points(), analysis::kMinRuns));
  return out;
}

// At most kMostSpikesShown spikes; the machine formats have all.
std::string analysis_text(const AnalysedSeries& series, bool colour) {
  std::string text =
      fmt::format("{}: {}", printable(series.file()), counted(series.points(), "point"));
  if (series.gaps() > 0) text += fmt::format(", {}", counted(series.gaps(), "gap"));
  if (series.has_noise_percent()) text += fmt::format(", noise {:.2g} %", series.noise_percent());
  text +=
      fmt::format(", {}, {}\n", counted(static_cast<std::size_t>(series.changes_size()), "change"),
                  counted(static_cast<std::size_t>(series.spikes_size()), "spike"));
  const Rows rows = rows_of(series.changes(), [](const AnalysedChange& change) {
    return Row({change.index(), fmt::format("{}-{}", change.index_first(), change.index_last()),
                change.class_(), number(change.before()), number(change.after()),
                effect_text(change), verdict_cell(change), change.time()});
  });
  if (!rows.empty())
    text += render_table("INDEX>|RANGE|CLASS|BEFORE>|AFTER>|EFFECT|IS|TIME", rows, colour);
  for (int i = 0; i < std::min(series.spikes_size(), kMostSpikesShown); ++i)
    text += fmt::format("spike at {}: {}, {} was expected\n", series.spikes(i).index(),
                        number(series.spikes(i).value()), number(series.spikes(i).expected()));
  if (series.spikes_size() > kMostSpikesShown)
    text += fmt::format("{} more spikes\n", series.spikes_size() - kMostSpikesShown);
  if (series.has_suspected_since_index())
    text += fmt::format("a shift since {} is suspected, too young to be placed\n",
                        series.suspected_since_index());
  for (const std::string& note : series.notes()) text += line_of(note);
  return text;
}

}  // namespace railgauge::cli

#include "controller/cli/report/judged_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/render/table.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::size_t kPlacesShown = 8;
constexpr std::size_t kSightShown = 6;
// On a terminal, so that the page of an upgrade or a finding fits it.
constexpr std::size_t kLinesOfMetrics = 9;
constexpr std::size_t kLinesOfPlaces = 9;
constexpr std::size_t kLinesOfCauses = 5;
constexpr std::size_t kLinesOfSight = 5;
constexpr int kHeadedShown = 3;
constexpr std::size_t kMostPlaceBytes = 60;

// Every word but pass and inconclusive is bad.
Tone tone_of_verdict(const std::string& verdict) {
  if (verdict == "pass") return Tone::kGood;
  return verdict == "inconclusive" ? Tone::kDoubtful : Tone::kBad;
}

std::string percent(double value) { return fmt::format("{:+.2f} %", value); }

// Many places in one cell.
std::string brief(const std::string& text) {
  return text.size() <= kMostPlaceBytes ? text : text.substr(0, kMostPlaceBytes) + "...";
}

// "" where the metric has no interval.
std::string interval_text(const JudgedMetric& metric) {
  if (!metric.has_low_percent() || !metric.has_high_percent()) return "";
  return fmt::format("{:+.2f} to {:+.2f}", metric.low_percent(), metric.high_percent());
}

// A set of nodes: "gpu[401-416]".
std::string folded(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return fold_names(std::vector<std::string>(names.begin(), names.end()));
}

// The list on top of the page. Empty values are left out by render_list.
std::string head(const Upgrade& upgrade, bool colour) {
  const std::string word = upgrade.has_verdict() ? upgrade.verdict() : upgrade.state();
  return render_list(
      {{"upgrade", {upgrade.upgrade_id(), Tone::kHeading}},
       {"verdict",
        {word + (upgrade.has_kind() ? ": " + upgrade.kind() : ""),
         upgrade.has_verdict() ? tone_of_verdict(word) : Tone::kPlain}},
       {"why", upgrade.reason()},
       {"nodes", folded(upgrade.nodes())},
       {"controls", folded(upgrade.controls())},
       {"asked for", upgrade.has_min_coverage() ? fmt::format("{:.4g} % of the changed pairs",
                                                              100 * upgrade.min_coverage())
                                                : ""},
       {"time limit",
        upgrade.has_ends_at_unix_seconds() ? rfc3339(upgrade.ends_at_unix_seconds()) : ""},
       {"since", upgrade.since()},
       {"before", fmt::format("{}{}", fmt::join(upgrade.before_runs(), " "),
                              upgrade.before_is_history() ? " (earlier runs)" : "")},
       {"after", upgrade.after_runs()},
       {"before|after", sparkline(upgrade.before_levels(), upgrade.after_levels())},
       {"smallest loss", upgrade.has_visible_loss_percent()
                             ? fmt::format("{:.2f} %", upgrade.visible_loss_percent())
                             : ""},
       {"finding", upgrade.finding_id()},
       {"points", upgrade.synthetic() ? "synthetic: they measure nothing" : ""}},
      colour);
}

// One row a metric, with the bound that it was compared with.
std::string metric_table(const Upgrade& upgrade, bool colour) {
  const Rows rows = rows_of(upgrade.metrics(), [](const JudgedMetric& metric) {
    return Row({metric.name(), Cell(metric.verdict(), tone_of_verdict(metric.verdict())),
                metric.changed_nodes() > 0 ? percent(metric.worse_percent()) : "-",
                interval_text(metric), fmt::format("{:.1f} %", metric.bound_percent()),
                fmt::format("{}+{}", metric.changed_nodes(), metric.control_nodes()),
                metric.reason()});
  });
  return render_short_section("METRIC|VERDICT|WORSE BY>|90 % INTERVAL>|BOUND>|NODES>|WHY", rows,
                              colour, {.lines = kLinesOfMetrics});
}

// The smallest losses that single places could show, at most kSightShown rows: the metrics come in
// the order of the table above it.
std::string sight_table(const Upgrade& upgrade, bool colour) {
  Rows rows;
  for (const PlaceSight& sight : upgrade.sight())
    if (rows.size() < kSightShown)
      rows.push_back({sight.has_smallest_loss_percent()
                          ? fmt::format("{:.1f} %", sight.smallest_loss_percent())
                          : "nothing",
                      sight.count(), sight.metric(), brief(sight.places())});
  std::string text = render_short_section("SMALLEST LOSS SEEN>|AT PLACES>|METRIC|PLACES", rows,
                                          colour, {.lines = kLinesOfSight});
  const std::size_t all = static_cast<std::size_t>(upgrade.sight_size());
  if (all > rows.size())
    text += fmt::format("and {} more; railgauge certificate {} has them\n", all - rows.size(),
                        upgrade.upgrade_id());
  return text;
}

// Lost functions of one kind and words are a row.
Rows lost_rows(const Upgrade& upgrade) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<const LostFunction*>>
      alike;
  for (const LostFunction& lost : upgrade.lost())
    alike[{lost.kind(), lost.name(), lost.what()}].push_back(&lost);
  Rows rows;
  for (const auto& [key, places] : alike) {
    std::vector<std::string> nodes;
    std::vector<std::string> endpoints;
    for (const LostFunction* lost : places) {
      nodes.push_back(lost->node());
      endpoints.push_back(lost->endpoint());
    }
    const auto& [kind, name, what] = key;
    rows.push_back({fold_names(nodes), fold_briefly(endpoints),
                    places.size() > 1 ? std::to_string(places.size()) : "", Cell(kind, Tone::kBad),
                    name, what});
  }
  return rows;
}

// Lost functions first, then the slowest places, at most kPlacesShown rows.
std::string place_table(const Upgrade& upgrade, bool colour) {
  Rows rows = lost_rows(upgrade);
  for (const JudgedMetric& metric : upgrade.metrics())
    for (const JudgedPlace& place : metric.places())
      if (rows.size() < kPlacesShown)
        rows.push_back({place.node(), place.endpoint(), "", Cell("slower", Tone::kBad),
                        metric.name(),
                        fmt::format("{} ({:+.2f} to {:+.2f})", percent(place.worse_percent()),
                                    place.low_percent(), place.high_percent())});
  return render_short_section("NODE|ENDPOINT|COUNT>|WHAT|OF|HOW MUCH", rows, colour,
                              {.lines = kLinesOfPlaces});
}

// For each suspected change, how often places with and without it are slower.
std::string cause_table(const Upgrade& upgrade, bool colour) {
  const Rows rows = rows_of(upgrade.causes(), [](const UpgradeCause& cause) {
    return Row({fmt::format("{}", fmt::join(cause.changes(), "; ")),
                fmt::format("{} of {}", cause.exposed_worse(), cause.exposed()),
                fmt::format("{} of {}", cause.unexposed_worse(), cause.unexposed()),
                fmt::format("{:.2g}", cause.p()),
                cause.explains() ? Cell("explains it", Tone::kBad) : Cell("does not")});
  });
  return render_short_section("SUSPECT|WORSE WITH IT>|WITHOUT>|CHANCE>|VERDICT", rows, colour,
                              {.lines = kLinesOfCauses});
}

// A rollback against the figures that its own stack gave.
google::protobuf::RepeatedPtrField<std::string> self_lines(const Upgrade& upgrade) {
  if (!upgrade.has_same_stack_before()) return {};
  constexpr int kMetricsShown = 5;
  const SameStackBefore& self = upgrade.same_stack_before();
  google::protobuf::RepeatedPtrField<std::string> lines;
  lines.Add(fmt::format(
      "{}{}{} (runs {}, until {})", self.verdict(), self.has_kind() ? ": " + self.kind() : "",
      self.has_reason() ? ": " + self.reason() : "", fmt::join(self.runs(), " "), self.until()));
  for (int i = 0; i < std::min(self.metrics_size(), kMetricsShown); ++i) {
    const JudgedMetric& metric = self.metrics(i);
    lines.Add(fmt::format("{}: {}, {} ({}), bound {:.1f} %", metric.name(), metric.verdict(),
                          percent(metric.worse_percent()), interval_text(metric),
                          metric.bound_percent()));
  }
  return lines;
}

}  // namespace

// An unknown verdict is invalid: a gate fails closed.
int exit_code_of_verdict(const Upgrade& upgrade) {
  if (upgrade.verdict() == "pass") return kExitPassed;
  if (upgrade.verdict() == "regressed") return kExitFailed;
  if (upgrade.verdict() == "inconclusive") return kExitInconclusive;
  return kExitInvalid;
}

// Sections without content leave no heading.
std::string upgrade_text(const Upgrade& upgrade, bool colour) {
  return page_with_end(
      head(upgrade, colour) + metric_table(upgrade, colour) + place_table(upgrade, colour) +
          cause_table(upgrade, colour) + sight_table(upgrade, colour) +
          headed_lines("against what the same stack gave before", self_lines(upgrade)) +
          headed_lines("not the cause", upgrade.excluded()) + headed_lines("note", upgrade.notes()),
      headed_lines("next", upgrade.next()));
}

namespace {

using Levels = google::protobuf::RepeatedField<double>;
constexpr std::array<const char*, 8> kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

constexpr double kHighest = kBars.size() - 1;
constexpr std::size_t kFurtherIndent = 4;
constexpr double kLeastScale = 0.02;  // noise of a thousandth shall not look like a mountain
}  // namespace

// Both sides share one scale of at least kLeastScale around the middle.
std::string sparkline(const Levels& before, const Levels& after) {
  if (before.empty() && after.empty()) return "";
  double low = 1e300;
  double high = -1e300;
  for (const Levels* side : {&before, &after})
    for (const double level : *side) {
      low = std::min(low, level);
      high = std::max(high, level);
    }
  // Without a least scale, noise would fill the whole height.
  const double middle = (low + high) / 2;
  const double half = std::max(high - low, kLeastScale) / 2;
  const auto bars = [&](const Levels& side) {
    std::string text;
    for (const double level : side) {
      const double share = std::clamp((level - middle + half) / (2 * half), 0.0, 1.0);
      text += kBars.at(static_cast<std::size_t>(std::lround(share * kHighest)));
    }
    return text;
  };
  return bars(before) + "|" + bars(after);
}

std::string headed_lines(const std::string& heading,
                         const google::protobuf::RepeatedPtrField<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = "\n" + heading + "\n";
  const int most = tables_are_cut() ? kHeadedShown : lines.size();
  for (int i = 0; i < std::min(most, lines.size()); ++i)
    text += "  " + wrapped_line(lines[i], kFurtherIndent);
  if (lines.size() > most)
    text += fmt::format("  and {} more; --full shows them\n", lines.size() - most);
  return text;
}

}  // namespace railgauge::cli

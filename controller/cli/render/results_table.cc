#include "controller/cli/render/results_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using api::ResultPoint;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;

constexpr int kMostDecimals = 6;
constexpr int kNamesShown = 4;  // endpoints of a task, before "..."

// A fact of the point, else of the task, else the parameter of that name.
std::string fact(const ResultPoint& point, const std::string& name) {
  for (const auto* map : {&point.point().facts(), &point.facts(), &point.parameters()})
    if (const auto found = map->find(name); found != map->end()) return found->second;
  return "";
}

// "unknown" is shown, so that a missing fact is seen.
std::string known(const std::string& text) { return text.empty() ? "unknown" : text; }

// The memory of the buffers. The path "host" has no other kind.
std::string memory_of(const ResultPoint& point) {
  const std::string memory = fact(point, "memory");
  return memory.empty() && fact(point, "path") == "host" ? "host" : known(memory);
}

// rxe is the kernel's software RDMA: its figures say nothing about a NIC.
bool is_soft_roce(const ResultPoint& point) {
  const std::string driver = fact(point, "driver");
  return driver == "rxe" || driver == "rdma_rxe";
}

// A fake device had a part in the figure.
bool is_synthetic(const ResultPoint& point) {
  return point.point().synthetic() || fact(point, "synthetic") == "true";
}

// GPU and collective figures are known in GB/s, NIC figures in Gb/s with GB/s beside.
bool is_gpu_kernel(const std::string& kernel) {
  return std::ranges::any_of(std::vector<std::string>{"cuda.", "nccl.", "bar."},
                             [&](const std::string& family) { return kernel.starts_with(family); });
}

// Keys as words: "half_rtt" becomes "half rtt".
std::string with_blanks(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

// The latency's meaning as people write it.
std::string meaning_text(const std::string& meaning) {
  if (meaning == "half_rtt") return "half RTT";
  if (meaning == "rtt") return "RTT";
  if (meaning == "gpu_visible") return "GPU visible";
  return with_blanks(meaning);
}

// "latency_ns" is measured, "latency" is what people call it.
std::string metric_text(const std::string& metric) {
  for (const std::string_view unit : {"_bytes_per_second", "_per_second", "_ns"})
    if (metric.ends_with(unit)) return with_blanks(metric.substr(0, metric.size() - unit.size()));
  return with_blanks(metric);
}

using Scale = ShownUnit;

// The columns of one value: NIC bandwidth in Gb/s and GB/s, GPU bandwidth in GB/s, times in
// microseconds.
std::vector<Scale> scales_of(const ResultPoint& point, Units units) {
  const Scale bits{"Gb/s", 8e-9};
  const Scale bytes{"GB/s", 1e-9};
  const std::string& unit = point.point().unit();
  if (unit == "ns") return {{"us", 1e-3}};
  if (unit == "per_second") return {{"M/s", 1e-6}};
  if (unit != "bytes_per_second") return {{unit, 1}};
  if (units == Units::kBits) return {bits};
  if (units == Units::kBytes || is_gpu_kernel(point.kernel())) return {bytes};
  return {bits, bytes};
}

std::string scaled(double value, const Scale& scale) { return figure(value * scale.factor); }

// Whether the figure is a rate: all that moved over all time, with its pauses beside it.
bool is_rate(const ResultPoint& point) { return point.point().unit().ends_with("per_second"); }

// "-" where the samples were too few for an interval.
std::string interval(const Point& point, const Scale& scale) {
  const auto ends = interval_of_headline(point);
  if (!ends) return "-";
  return fmt::format("{} to {}", scaled(ends->low, scale), scaled(ends->high, scale));
}

// "" where the share would mislead: loopback, soft-RoCE, synthetic figures, unknown rate.
std::string share_of_line_rate(const ResultPoint& point) {
  if (is_loopback(point)) return "";  // it never was on the line
  const auto rate = parse_number(fact(point, "port_rate_bits_per_second"));
  if (!rate || *rate <= 0 || is_soft_roce(point) || is_synthetic(point)) return "";
  return format_share(headline_of(point.point()) * 8 / *rate);
}

// Everything that limits trust in the figure, in one cell.
std::string notes_of(const ResultPoint& point) {
  std::vector<std::string> notes;
  if (point.outcome() != kPassed) notes.push_back(point.outcome());
  if (is_synthetic(point)) notes.emplace_back("SYNTHETIC");
  if (!point.point().converged())
    notes.push_back(point.point().stop_reason().empty()
                        ? "not converged"
                        : fmt::format("not converged ({})", point.point().stop_reason()));
  if (!point.point().verified()) notes.emplace_back("data not verified");
  if (point.point().facts().contains("clock")) notes.emplace_back("time of arrival");
  if (point.point().throttled()) {
    const std::string reasons = fact(point, "throttle_reasons");
    notes.push_back(reasons.empty() ? "throttled" : fmt::format("throttled ({})", reasons));
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

// At most kNamesShown endpoints, then their number.
std::string joined_endpoints(const ResultPoint& point) {
  if (is_loopback(point)) return point.endpoints(0);
  std::string text;
  for (int i = 0; i < point.endpoints_size() && i < kNamesShown; ++i)
    text += (i > 0 ? " " : "") + point.endpoints(i);
  if (point.endpoints_size() > kNamesShown)
    text += fmt::format(" ... ({})", point.endpoints_size());
  return text;
}

// By kernel, the parameters that differ between its tasks in these results. Effort parameters and
// sizes are left out.
using Differing = std::map<std::string, std::set<std::string>>;

// A parameter differs when it has another value than in the kernel's first point.
Differing differing_by_kernel(const Points& points) {
  std::map<std::string, const ResultPoint*> first;
  Differing differing;
  for (const ResultPoint& point : points) {
    const auto& reference = first.try_emplace(point.kernel(), &point).first->second->parameters();
    for (const auto& [name, value] : point.parameters()) {
      const auto other = reference.find(name);
      if (other != reference.end() && other->second != value && !is_effort_parameter(name))
        differing[point.kernel()].insert(name);
    }
  }
  return differing;
}

// ", loopback, direction h2d": what differs between points of one kernel.
std::string told_of(const ResultPoint& point, const Differing& differing) {
  std::string told = is_loopback(point) ? ", loopback" : "";
  if (const auto names = differing.find(point.kernel()); names != differing.end())
    for (const std::string& name : names->second)
      if (const auto value = point.parameters().find(name); value != point.parameters().end())
        told += fmt::format(", {} {}", with_blanks(name), value->second);
  return told;
}

// "latency (half RTT)".
std::string measured_text(const ResultPoint& point) {
  const std::string meaning = meaning_text(point.point().meaning());
  return metric_text(point.point().metric()) +
         (meaning.empty() ? "" : fmt::format(" ({})", meaning));
}

// The first line of a table. Points with the same title are one table, so all that must not be
// mixed is in it.
std::string title_of(const ResultPoint& point, const Differing& differing) {
  return fmt::format("memory {}, path {}: {} revision {}{}, {}, run {}", memory_of(point),
                     known(fact(point, "path")), point.kernel(), point.revision(),
                     told_of(point, differing), measured_text(point), point.run_id());
}

// One point as a row; `pairs` splits the endpoints into two columns.
std::vector<Cell> row_of(const ResultPoint& point, bool pairs, const std::vector<Scale>& scales) {
  const Point& value = point.point();
  std::vector<Cell> row;
  if (pairs) {
    row.emplace_back(point.endpoints(0));
    row.emplace_back(point.endpoints(1));
  } else {
    row.emplace_back(joined_endpoints(point));
  }
  row.emplace_back(value.pair());
  row.emplace_back(value.message_bytes() > 0 ? format_bytes(value.message_bytes()) : "");
  // No figure counts when the data was wrong, but what was measured stays visible, marked.
  const Tone tone = point.outcome() == kPassed ? Tone::kPlain : tone_of(point.outcome());
  const auto optional = [&](bool has, double figure) {
    return has ? scaled(figure, scales[0]) : "-";
  };
  for (const Scale& scale : scales) row.emplace_back(scaled(headline_of(value), scale), tone);
  row.emplace_back(interval(value, scales[0]));
  row.emplace_back(share_of_line_rate(point));
  if (is_rate(point)) {
    row.emplace_back(scaled(value.median(), scales[0]));
    row.emplace_back(optional(value.has_slot_p10(), value.slot_p10()));
    row.emplace_back(value.has_pause_share() ? format_share(value.pause_share()) : "-");
  } else {
    row.emplace_back(optional(value.has_p99(), value.p99()));
  }
  row.emplace_back(fmt::format("{:.0f}", value.sample_count()));
  row.emplace_back(notes_of(point), is_synthetic(point) ? Tone::kBad : tone_of(point.outcome()));
  return row;
}

// A table of points with one title. The columns depend on the first point's unit.
std::string one_table(const std::string& title, const std::vector<const ResultPoint*>& points,
                      Units units, bool colour) {
  // All points of one table have the same unit, since the title names the metric.
  const std::vector<Scale> scales = scales_of(*points.front(), units);
  // A collective of two ranks goes from neither to the other.
  const bool pairs = std::ranges::all_of(points, [](const ResultPoint* point) {
    return point->endpoints_size() == 2 && !is_loopback(*point) &&
           !point->kernel().starts_with("nccl.");
  });
  std::string headings = pairs ? "FROM|TO|PAIR|SIZE>" : "ENDPOINTS|PAIR|SIZE>";
  const bool rates = is_rate(*points.front());
  for (const Scale& scale : scales)
    headings += fmt::format("|{} {}>", rates ? "RATE" : "MEDIAN", scale.label);
  headings += fmt::format(
      fmt::runtime(rates ? "|95 % INTERVAL {0}>|OF LINE RATE>|MEDIAN {0}>|P10 {0}>|PAUSED>|N>|NOTES"
                         : "|95 % INTERVAL {0}>|OF LINE RATE>|P99 {0}>|N>|NOTES"),
      scales[0].label);
  Rows rows;
  rows.reserve(points.size());
  for (const ResultPoint* point : points) rows.push_back(row_of(*point, pairs, scales));
  std::string heading = wrapped_line(title);
  heading.pop_back();  // the newline stays without colour
  return toned(heading, Tone::kHeading, colour) + "\n" + render_table(headings, rows, colour);
}

}  // namespace

ShownUnit shown_unit(const ResultPoint& point, Units units) { return scales_of(point, units)[0]; }

std::vector<PointKind> kinds_of_points(const Points& points) {
  const Differing differing = differing_by_kernel(points);
  std::vector<PointKind> kinds;
  kinds.reserve(static_cast<std::size_t>(points.size()));
  for (const ResultPoint& point : points)
    kinds.push_back({.kernel = point.kernel() + told_of(point, differing),
                     .what = fmt::format("{}, memory {}, path {}{}", measured_text(point),
                                         memory_of(point), known(fact(point, "path")),
                                         is_synthetic(point) ? ", SYNTHETIC" : "")});
  return kinds;
}

std::string remarks_on(const Points& points) {
  std::string text;
  if (std::ranges::any_of(points, is_synthetic))
    text += wrapped_line(
        "SYNTHETIC: a fake device had a part in these figures; they measure no hardware");
  if (std::ranges::any_of(points, is_soft_roce))
    text += wrapped_line("soft-RoCE: these figures compare programs, they are no hardware figures");
  return text;
}

// Parameters that say how long is measured, not what: two points may differ in them and still be
// compared.
bool is_effort_parameter(std::string_view name) {
  constexpr std::array<std::string_view, 10> kEffort{
      "sizes",    "iterations", "min_samples",   "max_samples", "precision",
      "time_cap", "verify",     "stall_timeout", "least_time",  "proof_time"};
  return std::ranges::find(kEffort, name) != kEffort.end();
}

bool is_loopback(const ResultPoint& point) {
  if (point.endpoints_size() < 2) return false;
  return fact(point, kLoopbackFact) == "true" ||
         std::ranges::all_of(point.endpoints(), [&](const std::string& endpoint) {
           return endpoint == point.endpoints(0);
         });
}

// More decimals below 1, so that small values keep digits.
std::string figure(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  int decimals = size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0;
  for (double edge = 1; size != 0 && size < edge && decimals < kMostDecimals; edge /= 10)
    ++decimals;
  return fmt::format("{:.{}f}", value, decimals);
}

// Groups points by title, in the order of first appearance.
std::string results_tables(const Points& points, Units units, bool colour) {
  const Differing differing = differing_by_kernel(points);
  const auto title = [&](const ResultPoint& point) { return title_of(point, differing); };
  std::string text;
  for (const auto& members : grouped(points, title))
    text += (text.empty() ? "" : "\n") + one_table(title(*members[0]), members, units, colour);
  const std::string notes = remarks_on(points);
  if (!notes.empty()) text += "\n" + notes;
  return text;
}

}  // namespace railgauge::cli

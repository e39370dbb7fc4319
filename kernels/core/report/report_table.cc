// The table of a run: a head with the measured path and its trustworthiness, then a section for
// each metric.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/base/headline.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/report/report.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// A figure that is absent, and the terminal codes of a warning (bold red, plain).
constexpr std::string_view kAbsent = "-";
constexpr std::string_view kLoud = "\x1b[1;31m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr double kBitsPerByte = 8;
// Facts of the first line, in this order, with the words for people.
constexpr std::array kHeadFacts{std::pair{"memory", "memory"},        std::pair{"path", "path"},
                                std::pair{"copy_routine", "routine"}, std::pair{"gpu_model", "gpu"},
                                std::pair{"cuda_driver", "driver"},   std::pair{"gid", "gid"},
                                std::pair{"gid_type", "gid type"},    std::pair{"mtu_bytes", "mtu"},
                                std::pair{"clock_source", "clock"},   std::pair{"peer", "peer"}};
constexpr const char* kLineRateFact = "port_rate_bits_per_second";

// The unit of a column and the factor from the stored value: shown = value * factor.
struct Scale {
  std::string unit;
  double factor = 1;
};

// Latencies in us, rates in the chosen unit, counts in millions; other units stay.
Scale scale_of(const Point& point, RateUnit rate_unit) {
  if (point.unit() == "ns") return {"us", 1e-3};
  if (point.unit() == "per_second") return {"M/s", 1e-6};
  if (point.unit() != "bytes_per_second") return {point.unit(), 1};
  return rate_unit == RateUnit::kBits ? Scale{"Gb/s", kBitsPerByte / 1e9} : Scale{"GB/s", 1e-9};
}

// A value with four significant digits, with more before the point and at most seven behind it.
std::string figure(double value) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  const double size = std::fabs(value);
  int decimals = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
  constexpr int kMostDecimals = 7;
  for (double least = 0.99995; size > 0 && size < least && decimals < kMostDecimals; least /= 10)
    ++decimals;
  return fmt::format("{:.{}f}", value, decimals);
}

// The meaning of a point for people; an unknown one as it is.
std::string meaning_in_words(const std::string& meaning) {
  if (meaning == "half_rtt") return "one way: half of the round trip (RTT/2)";
  if (meaning == "rtt") return "round trip";
  if (meaning == "hop") return "one way: a round over all ranks, for each of them";
  if (meaning == "completion") return "until the completion";
  if (meaning == "gpu_visible") return "until the GPU sees it";
  if (meaning == "posted") return "until the store has left the CPU";
  if (meaning == "dependent_load") return "of a load that waits for the one before";
  return meaning;
}

// The metric without its unit, which is in the column: "latency_ns" becomes "latency".
std::string metric_in_words(const Point& point) {
  std::string metric = point.metric();
  const std::string suffix = "_" + point.unit();
  if (metric.ends_with(suffix)) metric.resize(metric.size() - suffix.size());
  std::ranges::replace(metric, '_', ' ');
  return metric;
}

// Whether a fake had a part in any figure.
bool any_synthetic(const RunnerReport& report) {
  return value_of(report.started().facts(), "synthetic") == "true" ||
         std::ranges::any_of(report.points(), &Point::synthetic);
}

// The port's rate in bytes per second from its fact, or nothing.
std::optional<double> line_rate(const RunnerReport& report) {
  const auto rate = parse_number(value_of(report.started().facts(), kLineRateFact));
  return rate && *rate > 0 ? std::optional(*rate / kBitsPerByte) : std::nullopt;
}

// One metric's rows, in the order of the points. Refers to the report.
class Section {
 public:
  Section(const RunnerReport& report, const Point& first, const TableStyle& style)
      : report_(report),
        first_(first),
        scale_(scale_of(first, style.rate_unit)),
        is_rate_(first.unit() == "bytes_per_second"),
        line_rate_(is_rate_ ? line_rate(report) : std::nullopt),
        other_(scale_of(first,
                        style.rate_unit == RateUnit::kBits ? RateUnit::kBytes : RateUnit::kBits)) {}

  // Heading, table, and a line for each mark that occurs.
  [[nodiscard]] std::string text() const {
    TextTable table(columns());
    bool all_converged = true;
    bool any_throttled = false;
    for (const Point& point : report_.points()) {
      if (!is_here(point)) continue;
      table.add(row(point));
      all_converged = all_converged && !is_open(point);
      any_throttled = any_throttled || point.throttled();
    }
    std::string out = fmt::format("\n{} in {}, {}", metric_in_words(first_), scale_.unit,
                                  meaning_in_words(first_.meaning()));
    if (line_rate_) out += fmt::format("; line rate {}", shown(*line_rate_) + " " + scale_.unit);
    out += '\n' + table.text();
    if (!all_converged)
      out += "* the interval is wider than asked: stopped by the time cap or the sample limit\n";
    if (any_throttled)
      out += "! the GPU's clocks were held down meanwhile: " + throttle_reasons() + '\n';
    return out;
  }

 private:
  // Whether the interval is wider than the person asked for. A fixed number of iterations has no
  // interval to reach.
  static bool is_open(const Point& point) {
    return !point.converged() && point.stop_reason() != "iterations";
  }
  [[nodiscard]] bool is_here(const Point& point) const {
    return point.metric() == first_.metric() && point.meaning() == first_.meaning();
  }
  // Whether a column for pairs is needed.
  [[nodiscard]] bool has_pairs() const {
    return std::ranges::any_of(report_.points(), [this](const Point& point) {
      return is_here(point) && !point.pair().empty();
    });
  }
  // The reasons of all throttled points, each once.
  [[nodiscard]] std::string throttle_reasons() const {
    std::set<std::string> reasons;
    for (const Point& point : report_.points())
      if (const std::string told = value_of(point.facts(), "throttle_reasons");
          is_here(point) && point.throttled() && !told.empty())
        reasons.insert(told);
    return reasons.empty() ? "reason unknown" : fmt::format("{}", fmt::join(reasons, ", "));
  }
  [[nodiscard]] std::string shown(double value) const { return figure(value * scale_.factor); }
  template <class Has>
  [[nodiscard]] std::string shown_if(Has has, double value) const {
    return has ? shown(value) : std::string(kAbsent);
  }
  // The two ends of an interval.
  [[nodiscard]] std::string span_of(bool has, double low, double high) const {
    return has ? fmt::format("{}..{}", shown(low), shown(high)) : std::string(kAbsent);
  }
  // The interval of the figure in front of it: a rate's own, or the median's.
  [[nodiscard]] std::string headline_interval(const Point& point) const {
    const auto ends = interval_of_headline(point);
    return ends ? span_of(true, ends->low, ends->high) : std::string(kAbsent);
  }
  // "1.2 %" of the time, "-" where no pauses were looked for.
  [[nodiscard]] static std::string paused(const Point& point) {
    return point.has_pause_share() ? format_share(point.pause_share()) : std::string(kAbsent);
  }
  // Columns depend on the metric: rates have a share of the line, their median, their low slots and
  // pauses; latencies have percentiles.
  [[nodiscard]] std::vector<TextTable::Column> columns() const {
    std::vector<TextTable::Column> out{{"size"}, {"n"}, {scale_.unit}, {"95 % interval"}};
    if (!is_rate_) out[2].title = "median";
    if (first_.has_rate()) {
      out[2].title = scale_.unit;
      out.insert(out.begin() + 4, {"median"});
    }
    if (pairs_) out.insert(out.begin(), {"pair", TextTable::Align::kLeft});
    if (line_rate_) out.push_back({"of line"});
    if (is_rate_) out.push_back({other_.unit});
    if (!first_.larger_is_better())
      out.insert(out.end(), {{"p99"}, {"95 % interval"}, {"p99.9"}, {"95 % interval"}});
    if (first_.has_rate()) out.insert(out.end(), {{"p10"}, {"paused"}});
    out.insert(out.end(), {{"min"}, {"max"}});
    return out;
  }
  // The cells in the order of columns().
  [[nodiscard]] std::vector<std::string> row(const Point& point) const {
    std::vector<std::string> out{format_bytes(point.message_bytes()),
                                 format_count(point.sample_count()),
                                 fmt::format("{}{}{}", point.throttled() ? "! " : "",
                                             is_open(point) ? "* " : "", shown(headline_of(point))),
                                 headline_interval(point)};
    if (first_.has_rate()) out.insert(out.begin() + 4, shown(point.median()));
    if (pairs_) out.insert(out.begin(), point.pair());
    if (line_rate_) out.push_back(format_share(headline_of(point) / *line_rate_));
    if (is_rate_) out.push_back(figure(headline_of(point) * other_.factor));
    if (!first_.larger_is_better())
      out.insert(out.end(), {shown_if(point.has_p99(), point.p99()),
                             span_of(point.has_p99_low(), point.p99_low(), point.p99_high()),
                             shown_if(point.has_p999(), point.p999()),
                             span_of(point.has_p999_low(), point.p999_low(), point.p999_high())});
    if (first_.has_rate())
      out.insert(out.end(), {shown_if(point.has_slot_p10(), point.slot_p10()), paused(point)});
    out.insert(out.end(), {shown(point.min()), shown(point.max())});
    return out;
  }

  const RunnerReport& report_;
  const Point& first_;
  const Scale scale_;
  const bool is_rate_;
  const std::optional<double> line_rate_;
  const Scale other_;
  const bool pairs_ = has_pairs();
};

}  // namespace

// Warnings come right below the first line: a reader must not miss them.
std::string report_head(const RunnerReport& report, const TableStyle& style) {
  std::string out = report.kernel();
  const auto& facts = report.started().facts();
  if (!report.started().endpoint().empty())
    out += fmt::format("  endpoint {}", report.started().endpoint());
  for (const auto& [name, label] : kHeadFacts)
    if (const auto fact = facts.find(name); fact != facts.end())
      out += fmt::format("  {} {}", label, fact->second);
  out += '\n';
  const auto loud = [&](const std::string& line) {
    out += style.colour ? fmt::format("{}{}{}\n", kLoud, line, kPlain) : line + '\n';
  };
  if (any_synthetic(report))
    loud("SYNTHETIC: a fake device took part; these figures measure no hardware");
  if (report.outcome() != kPassed && report.points_size() > 0)
    loud(fmt::format("NOT PASSED ({}): these figures count for nothing", report.outcome()));
  return out;
}

// Metrics appear in the order of their first points.
std::string report_table(const RunnerReport& report, const TableStyle& style) {
  std::string out = report_head(report, style);
  std::vector<std::string> done;
  for (const Point& point : report.points()) {
    const std::string key = point.metric() + ' ' + point.meaning();
    if (std::ranges::find(done, key) != done.end()) continue;
    done.push_back(key);
    out += Section(report, point, style).text();
  }
  return out;
}

}  // namespace railgauge

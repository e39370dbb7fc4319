// perftest's columns from our points.
#include "kernels/peers/perftest/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// In place of a figure that was not measured.
constexpr std::string_view kAbsent = "-";
// perftest's bandwidth is in MiB/s, or with --report_gbits in Gb/s.
constexpr double kMib = 1U << 20U;
constexpr double kBitsPerByte = 8;

std::string shown(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : std::string(kAbsent);
}
// Millions of messages a second; small ones have digits too.
std::string shown_rate(double per_second) {
  return std::isfinite(per_second) ? fmt::format("{:.6f}", per_second / 1e6) : std::string(kAbsent);
}

// The confidence interval of the median, in the table's unit.
std::string interval_of(const Point& point, double factor) {
  if (!point.has_median_low() || !point.has_median_high()) return std::string(kAbsent);
  return fmt::format("{}..{}", shown(point.median_low() * factor),
                     shown(point.median_high() * factor));
}

// Returns the requested count; without one, the number of messages in the measured time.
std::string messages_of(const RunnerReport& report, const Point& point) {
  if (const auto count = parse_integer(value_of(report.started().parameters(), "iterations"));
      count && *count > 0)
    return std::to_string(*count);
  if (!point.larger_is_better()) return fmt::format("{:.0f}", point.sample_count());
  const double bytes = point.mean() * point.measure_ns() / 1e9;
  return fmt::format("{:.0f}", bytes / point.message_bytes());
}

// The message rate beside a bandwidth; nullptr when there is none.
const Point* rate_beside(const RunnerReport& report, const Point& bandwidth) {
  for (const Point& point : report.points())
    if (point.metric() == "message_rate_per_second" &&
        point.message_bytes() == bandwidth.message_bytes() &&
        point.meaning() == bandwidth.meaning() && point.pair() == bandwidth.pair())
      return &point;
  return nullptr;
}

// Whether rows need a name, for several links or for a staged twin.
bool has_pairs(const RunnerReport& report) {
  return std::ranges::any_of(report.points(),
                             [](const Point& point) { return !point.pair().empty(); });
}

// The facts of a point in both directions, and their headings.
constexpr std::array kDirections{std::pair{"initiator_bytes_per_second", "client's"},
                                 std::pair{"target_bytes_per_second", "server's"}};

// One row a size: the tool's columns first, then ours.
std::string bandwidth_table(const RunnerReport& report, const PerftestCall& call) {
  const bool gigabits = call.gigabits;
  const double factor = gigabits ? kBitsPerByte / 1e9 : 1 / kMib;
  // The tool's own headings; median and interval, which it does not have, in its unit.
  const std::string_view unit = gigabits ? "Gb/sec" : "MiB/sec";
  const bool pairs = has_pairs(report);
  std::vector<TextTable::Column> columns{{"#bytes"},
                                         {"#iterations"},
                                         {fmt::format("BW peak[{}]", unit)},
                                         {fmt::format("BW average[{}]", unit)},
                                         {"MsgRate[Mpps]"},
                                         {fmt::format("median[{}]", unit)},
                                         {"95 % interval"}};
  if (call.each_direction)
    for (const auto& [fact, whose] : kDirections)
      columns.push_back({fmt::format("{} average[{}]", whose, unit)});
  if (pairs) columns.push_back({"pair", TextTable::Align::kLeft});
  TextTable table(columns);
  for (const Point& point : report.points()) {
    if (point.metric() != "bandwidth_bytes_per_second") continue;
    const Point* rate = rate_beside(report, point);
    std::vector<std::string> row{fmt::format("{:.0f}", point.message_bytes()),
                                 messages_of(report, point),
                                 shown(point.max() * factor),
                                 shown(point.mean() * factor),
                                 rate == nullptr ? std::string(kAbsent) : shown_rate(rate->mean()),
                                 shown(point.median() * factor),
                                 interval_of(point, factor)};
    if (call.each_direction)
      for (const auto& [fact, whose] : kDirections) {
        const auto one = parse_number(value_of(point.facts(), fact));
        row.push_back(one ? shown(*one * factor) : std::string(kAbsent));
      }
    if (pairs) row.push_back(point.pair().empty() ? "all" : point.pair());
    table.add(row);
  }
  return fmt::format("\nbandwidth, {}; peak, median and interval are of windows\n{}",
                     gigabits ? "Gb: 10^9 bits" : "MiB: 2^20 bytes", table.text());
}

// One row a size, in microseconds.
std::string latency_table(const RunnerReport& report) {
  constexpr double kUs = 1e-3;
  TextTable table({{"#bytes"},
                   {"#iterations"},
                   {"t_min[usec]"},
                   {"t_max[usec]"},
                   {"t_typical[usec]"},
                   {"t_avg[usec]"},
                   {"t_stdev[usec]"},
                   {"99% percentile[usec]"},
                   {"99.9% percentile[usec]"},
                   {"95 % interval"}});
  std::string_view meaning = "a full round trip";
  for (const Point& point : report.points()) {
    if (point.metric() != "latency_ns") continue;
    if (point.meaning() == "half_rtt") meaning = "one way: half of the round trip";
    const auto if_there = [](bool there, double value) {
      return there ? shown(value * kUs) : std::string(kAbsent);
    };
    table.add({fmt::format("{:.0f}", point.message_bytes()), messages_of(report, point),
               shown(point.min() * kUs), shown(point.max() * kUs), shown(point.median() * kUs),
               shown(point.mean() * kUs), if_there(point.has_stddev(), point.stddev()),
               if_there(point.has_p99(), point.p99()), if_there(point.has_p999(), point.p999()),
               interval_of(point, kUs)});
  }
  return fmt::format(
      "\nlatency, {}; t_typical is the median, the interval is its own; every sample counts\n{}",
      meaning, table.text());
}

// Whether the report has a point of that metric.
bool has(const RunnerReport& report, std::string_view metric) {
  return std::ranges::find(report.points(), metric, &Point::metric) != report.points().end();
}

// MiB/s, or Gb/s.
double bandwidth_factor(const PerftestCall& call) {
  return call.gigabits ? kBitsPerByte / 1e9 : 1 / kMib;
}

// Every sample of each size, in microseconds, numbered from 1 as the tool does.
std::string sample_lists(const RunnerReport& report, PerftestSamples order) {
  constexpr double kUs = 1e-3;
  std::string out;
  for (const Point& point : report.points()) {
    if (point.metric() != "latency_ns") continue;
    std::vector<double> samples(point.samples().begin(), point.samples().end());
    if (order == PerftestSamples::kSorted) std::ranges::sort(samples);
    out += fmt::format("\n{:.0f} bytes\n#, usec\n", point.message_bytes());
    for (std::size_t i = 0; i < samples.size(); ++i)
      out += fmt::format("{}, {:g}\n", i + 1, samples[i] * kUs);
  }
  return out;
}

// The value of a counter in a list of the kernel's ("a=3, b=12"), or absent.
std::optional<std::string> listed(const std::string& list, const std::string& name) {
  for (const std::string_view entry : split(list, ','))
    if (const std::string_view one = entry.substr(entry.find_first_not_of(' '));
        one.starts_with(name + "="))
      return std::string(one.substr(name.size() + 1, one.find(' ') - name.size() - 1));
  return std::nullopt;
}

// The growth of the named counters from before a size's first message until after its last, as the
// tool prints them. The kernel counts words of the port's data as bytes.
std::string counter_lines(const RunnerReport& report, const std::vector<std::string>& names) {
  constexpr std::int64_t kWordBytes = 4;
  std::string out;
  for (const Point& point : report.points()) {
    if (point.metric() == "message_rate_per_second" || !point.pair().empty()) continue;
    for (const std::string& file : names) {
      const std::string name = file.substr(file.find('/') + 1);
      std::string value = "0";
      for (const char* fact : {"port_counters_grown", "port_traffic"}) {
        const std::string list = value_of(point.facts(), fact);
        if (list.empty()) continue;
        if (const auto grown = listed(list, name)) value = *grown;
        if (const auto bytes = listed(list, name + "_bytes"))
          value = std::to_string(parse_integer(*bytes).value_or(0) / kWordBytes);
      }
      out += fmt::format("\t{}={}\n", file, value);
    }
  }
  return out;
}

// One number a size.
std::string only_figure(const RunnerReport& report, const PerftestCall& call) {
  std::string out;
  for (const Point& point : report.points()) {
    if (call.only == "latency" && point.metric() == "latency_ns")
      out += fmt::format("{:f}\n", point.mean() * 1e-3);
    if (call.only == "bandwidth" && point.metric() == "bandwidth_bytes_per_second")
      out += fmt::format("{:f}\n", point.mean() * bandwidth_factor(call));
    if (call.only == "message_rate" && point.metric() == "message_rate_per_second")
      out += fmt::format("{:f}\n", point.mean() / 1e6);
  }
  return out;
}

}  // namespace

// A report without points gives the head only.
std::string perftest_table(const RunnerReport& report, const TableStyle& style,
                           const PerftestCall& call) {
  if (!call.only.empty()) return only_figure(report, call) + counter_lines(report, call.counters);
  std::string out = report_head(report, style);
  if (has(report, "bandwidth_bytes_per_second")) out += bandwidth_table(report, call);
  if (has(report, "latency_ns")) out += latency_table(report);
  if (call.samples != PerftestSamples::kNone) out += sample_lists(report, call.samples);
  return out + counter_lines(report, call.counters);
}

// Each size by itself: in the tool one size that passes lets all others pass. A floor that no
// figure was compared with is not kept.
std::vector<std::string> below_floors(const RunnerReport& report, const PerftestCall& call) {
  std::vector<std::string> below;
  if (call.least_bandwidth > 0 && !has(report, "bandwidth_bytes_per_second"))
    below.emplace_back("no bandwidth was measured, which has a floor");
  if (call.least_message_rate > 0 && !has(report, "message_rate_per_second"))
    below.emplace_back("no message rate was measured, which has a floor");
  for (const Point& point : report.points()) {
    const double bandwidth = point.mean() * bandwidth_factor(call);
    if (point.metric() == "bandwidth_bytes_per_second" && bandwidth < call.least_bandwidth)
      below.push_back(fmt::format("{:.0f} bytes: {} {} is below {}", point.message_bytes(),
                                  shown(bandwidth), call.gigabits ? "Gb/s" : "MiB/s",
                                  shown(call.least_bandwidth)));
    if (point.metric() == "message_rate_per_second" && point.mean() / 1e6 < call.least_message_rate)
      below.push_back(fmt::format("{:.0f} bytes: {} million messages a second is below {}",
                                  point.message_bytes(), shown_rate(point.mean()),
                                  call.least_message_rate));
  }
  return below;
}

}  // namespace railgauge

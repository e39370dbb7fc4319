// Stored points: results, history, runs compare, export
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "controller/cli/verbs/completion.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultPoints = 1000;
constexpr double kExportSeconds = 24 * 3600;

// The endpoints, and the pair's direction where there is one.
std::string endpoints_text(const Series& series) {
  std::string text = fmt::format("{}", fmt::join(series.endpoints(), " "));
  if (!series.pair().empty()) text += " " + series.pair();
  return text;
}

// "" for a metric without a message size.
std::string bytes_text(double bytes) { return bytes > 0 ? fmt::format("{}", bytes) : ""; }

// A list that fills the limit is reported as cut off.
Result<int> list_series(Session& session, const Arguments& arguments) {
  PointsRequest request = RG_TRY(points_request(arguments));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultPoints)));
  const auto list = RG_TRY(call(session, rpc::kListSeries, request));
  const Output& output = session.output;
  if (list.series_size() >= static_cast<int>(request.limit()))
    print_fault(output, fmt::format("only {} series are shown; filters narrow, --limit widens",
                                    list.series_size()));
  if (list.series().empty()) RG_TRY_OK(check_filters(session, arguments));
  if (print_document(output, list, "series")) return kExitPassed;
  const Rows rows = rows_of(list.series(), [](const Series& series) {
    return Row({series.series_id(), series.kernel(), series.metric(), series.meaning(),
                bytes_text(series.message_bytes()), endpoints_text(series)});
  });
  output.out << render_short_table("SERIES>|KERNEL|METRIC|MEANING|BYTES>|ENDPOINTS", rows,
                                   output.colour, {.remedy = "filters choose; --full shows them"});
  return kExitPassed;
}

// Everything that limits trust in the point.
std::string flags_text(const HistoryPoint& point) {
  std::string text;
  const auto add = [&text](bool is, std::string_view word) {
    if (is) text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  };
  add(!point.converged(), "not converged");
  add(point.synthetic(), "synthetic");
  add(point.throttled(), "throttled");
  return text;
}

// Daily figures stay after the points were pruned.
std::string days_table(const History& history, bool colour) {
  const Rows rows = rows_of(history.days(), [](const HistoryDay& day) {
    return Row({day.day_at().substr(0, 10), fmt::format("{}", day.point_count()),
                figure(day.mean()), figure(day.lowest()), figure(day.highest())});
  });
  return render_table(fmt::format("DAY|POINTS>|MEAN_{}>|LOWEST>|HIGHEST>", history.series().unit()),
                      rows, colour);
}

// The headline and its interval; a rate then has its median, low slots and pauses in place of the
// p99.
std::string points_table(const History& history, bool colour) {
  const Series& series = history.series();
  const bool is_rate = series.unit().ends_with("per_second");
  const auto optional = [](bool has, double value) { return has ? figure(value) : ""; };
  const Rows rows = rows_of(history.points(), [&](const HistoryPoint& point) {
    Row row({point.measured_at(), point.run_id()});
    row.emplace_back(figure(point.headline()));
    // The headline of a rate from before kernels had the figure is its median.
    const bool has_rate = point.has_pause_share();
    row.emplace_back(has_rate ? optional(point.has_rate_low(), point.rate_low())
                              : optional(point.has_median_low(), point.median_low()));
    row.emplace_back(has_rate ? optional(point.has_rate_high(), point.rate_high())
                              : optional(point.has_median_high(), point.median_high()));
    if (is_rate) {
      row.emplace_back(figure(point.median()));
      row.emplace_back(optional(point.has_slot_p10(), point.slot_p10()));
      row.emplace_back(point.has_pause_share() ? format_share(point.pause_share()) : "");
    } else {
      row.emplace_back(optional(point.has_p99(), point.p99()));
    }
    row.emplace_back(point.has_epoch() ? std::to_string(point.epoch()) : "");
    row.push_back(state_cell(point.outcome()));
    row.emplace_back(flags_text(point));
    return row;
  });
  const std::string headings =
      is_rate ? fmt::format("RATE_{}>|LOW>|HIGH>|MEDIAN>|P10>|PAUSED>", series.unit())
              : fmt::format("MEDIAN_{}>|LOW>|HIGH>|P99>", series.unit());
  return render_table(fmt::format("MEASURED|RUN|{}|EPOCH>|OUTCOME|NOTES", headings), rows, colour);
}

}  // namespace

// Without SERIES lists the series instead.
Result<int> show_history(Session& session, const Arguments& arguments) {
  if (arguments.operands.empty()) return list_series(session, arguments);
  HistoryRequest request;
  request.set_series_id(RG_TRY(series_number(arguments.operand(0))));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultPoints)));
  if (const auto since = RG_TRY(time_of(arguments, "since")))
    request.set_since_unix_seconds(*since);
  const auto history = RG_TRY(call(session, rpc::kGetHistory, request));
  const Output& output = session.output;
  if (print_document(output, history, "points")) return kExitPassed;
  const Series& series = history.series();
  std::string page = wrapped_line(
      fmt::format("series {}: {} {} {} of {} bytes, {}; {} is better", series.series_id(),
                  series.kernel(), series.metric(), series.meaning(), series.message_bytes(),
                  endpoints_text(series), series.larger_is_better() ? "larger" : "smaller"));
  if (!history.days().empty()) page += days_table(history, output.colour) + '\n';
  page += points_table(history, output.colour);
  output.out << screenful(page);
  return kExitPassed;
}

// Shows ratios and judges nothing: that is the controller's task.
Result<int> compare_runs(Session& session, const Arguments& arguments) {
  CompareRequest request;
  request.set_run_a(arguments.operand(0));
  request.set_run_b(arguments.operand(1));
  const auto comparison = RG_TRY(call(session, rpc::kCompareRuns, request));
  const Output& output = session.output;
  if (print_document(output, comparison, "series")) return kExitPassed;
  // The largest change first: the others are on the pages behind it.
  std::vector<const ComparedSeries*> order;
  for (const ComparedSeries& each : comparison.series()) order.push_back(&each);
  std::ranges::stable_sort(order, std::greater<>(), [](const ComparedSeries* each) {
    return each->has_b_over_a() ? std::abs(each->b_over_a() - 1) : 0;
  });
  const Rows rows = rows_of(order, [](const ComparedSeries* compared) {
    const ComparedSeries& each = *compared;
    const Series& series = each.series();
    return Row({series.series_id(), series.kernel(), series.metric(),
                bytes_text(series.message_bytes()), endpoints_text(series),
                value_text(each.median_a(), series.unit()),
                value_text(each.median_b(), series.unit()),
                each.has_b_over_a() ? fmt::format("{:+.1f} %", (each.b_over_a() - 1) * 100) : "-"});
  });
  output.out << wrapped_line(
                    fmt::format("A {}, B {}; medians of the points' headlines, the largest change "
                                "first, no judgement",
                                comparison.run_a(), comparison.run_b()))
             << render_short_table("SERIES>|KERNEL|METRIC|BYTES>|ENDPOINTS|A>|B>|CHANGE>", rows,
                                   output.colour);
  if (comparison.series_only_in_a() + comparison.series_only_in_b() > 0)
    output.out << fmt::format("{} series are in A alone, {} in B alone\n",
                              comparison.series_only_in_a(), comparison.series_only_in_b());
  return kExitPassed;
}

// A stream that breaks after its first page leaves a valid document, a message and a non-zero exit
// code.
Result<int> export_points(Session& session, const Arguments& arguments) {
  const Output& output = session.output;
  if (output.format == Format::kTable)
    return fail(Code::kInvalidArgument, "export: --format csv, json or ndjson says as what");
  PointsRequest request = RG_TRY(points_request(arguments));
  request.set_limit(RG_TRY(count_of(arguments, "limit", 0)));
  const std::string columns = csv_header(*ResultPoint::descriptor());
  std::optional<RowPrinter> printer;  // begins its document with the first page
  const Status read = stream_points(session, request, kExportSeconds, [&](const ResultList& page) {
    if (!printer) printer.emplace(output, columns, "\"points\"");
    for (const ResultPoint& point : page.points())
      printer->print([&] { return csv_row(point); },
                     [&] { return to_json(point, JsonLayout::kCompact); });
    // A full disk or a closed pipe ends the stream.
    return output.out.good();
  });
  if (printer) printer->end();
  if (session.interrupts.any()) return fail(Code::kCancelled, "interrupted");
  if (!output.out.good()) return fail(Code::kUnavailable, "export: the output takes no more");
  if (!read && printer) {
    // The document is printed already; the exit code says that it is not complete.
    print_fault(output, "export: not whole: " + read.error().message);
    return exit_code_of_call(read.error());
  }
  if (!read) return tl::unexpected(read.error());
  if (!printer) RowPrinter(output, columns, "\"points\"").end();
  return kExitPassed;
}

// The default limit keeps a terminal readable; export has none.
Result<int> show_results(Session& session, const Arguments& arguments) {
  auto request = RG_TRY(points_request(arguments));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultPoints)));
  const auto list = RG_TRY(call(session, rpc::kFindPoints, request));
  const Output& output = session.output;
  if (list.points_size() >= static_cast<int>(request.limit()))
    print_fault(output, fmt::format("only the first {} points are shown; --limit N shows more",
                                    request.limit()));
  if (list.points().empty()) RG_TRY_OK(check_filters(session, arguments));
  if (print_document(output, list, "points")) return 0;
  if (list.points().empty()) {
    print_notice(output, "no point matches; railgauge runs lists the runs");
    return 0;
  }
  output.out << screenful(results_tables(list.points(), output.units, output.colour));
  return 0;
}

}  // namespace railgauge::cli

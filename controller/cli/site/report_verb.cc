// report
#include <ctime>
#include <optional>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/heat_map.h"
#include "controller/cli/site/report_calls.h"
#include "controller/cli/site/report_html.h"
#include "controller/cli/verbs/commands.h"
#include "controller/report/gather.h"
#include "controller/report/page.h"
#include "controller/report/site_report.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr double kDefaultSeconds = 24 * 3600.0;
constexpr double kReadSeconds = 300;  // suspects look through millions of points
constexpr std::size_t kEntriesOfHtml = 40;
constexpr std::size_t kReportRectangles = 64;  // a side of the matrix

PairsRequest matrix_request(const std::string& run_id, std::optional<std::int32_t> rail) {
  auto request = request_for<PairsRequest>(run_id);
  if (rail) request.set_rail(*rail);
  return request;
}

// The calls of the report, each a call of the controller.
report::Source source_of(Session& session, const std::string& node_set) {
  const auto ask = [&session](const auto& rpc, const auto& request) {
    return call(session, rpc, request, kReadSeconds);
  };
  report::Source source = report_source(ask, node_set);
  source.is_synthetic = [&session] { return session.output.mark->is_synthetic; };
  if (session.output.format == Format::kHtml)
    source.matrix = [ask](const std::string& run_id, std::optional<std::int32_t> rail) {
      return ask(rpc::kGetMatrix, matrix_request(run_id, rail));
    };
  return source;
}

std::string matrix_svg(const std::optional<PairMatrix>& matrix) {
  if (!matrix || matrix->nodes_size() < 2) return "";
  return heat_svg(
      grid_of(*matrix),
      fmt::format("{} {}, rail {}, run {}{}", matrix->kernel(), matrix->metric(), matrix->rail(),
                  matrix->run_id(), matrix->synthetic() ? ", SYNTHETIC" : ""),
      kReportRectangles);
}

// Exit codes are those of verdicts: 0 pass, 1 regressed, 3 inconclusive, 4 invalid.
int exit_code_of_verdict(const std::string& verdict) {
  if (verdict == "pass") return kExitPassed;
  if (verdict == "regressed") return kExitFailed;
  return verdict == "inconclusive" ? kExitInconclusive : kExitInvalid;
}

Result<report::Gathered> gather(Session& session, const Arguments& arguments) {
  const int scopes = (arguments.operands.empty() ? 0 : 1) + (arguments.has("since") ? 1 : 0) +
                     (arguments.has("upgrade") ? 1 : 0);
  if (scopes > 1)
    return fail(Code::kInvalidArgument, "report: one of RUN, --since and --upgrade is needed");
  // The controller's clock made the times of what it stored; this host's may be another.
  const Installation told = RG_TRY(call(session, rpc::kGetInstallation, InstallationRequest()));
  const double now =
      parse_calendar(told.now_at()).value_or(static_cast<double>(std::time(nullptr)));
  const report::Source source = source_of(session, RG_TRY(node_set_of(arguments)));
  if (arguments.has("upgrade"))
    return report::gather_upgrade(source, arguments.value("upgrade"), now);
  if (!arguments.operands.empty()) return report::gather_run(source, arguments.operand(0), now);
  const auto since = RG_TRY(time_of(session, arguments, "since"));
  return report::gather_since(source, since.value_or(now - kDefaultSeconds), now);
}

}  // namespace

// As a table it is the text; csv has no form of it.
Result<int> show_report(Session& session, const Arguments& arguments) {
  const Output& output = session.output;
  if (output.format == Format::kCsv)
    return fail(Code::kInvalidArgument,
                "report: it is no list; --format text, md, html, json or ndjson");
  const report::Gathered gathered = RG_TRY(gather(session, arguments));
  const SiteReport report = report::make_report(gathered.material);
  output.mark->is_shown = true;  // by the headline
  if (output.format == Format::kHtml)
    output.out << report_html(report::page_of(report, kEntriesOfHtml), matrix_svg(gathered.matrix),
                              gathered.no_matrix);
  else if (output.format == Format::kMarkdown)
    output.out << report::page_markdown(report::page_of(report));
  else if (output.format == Format::kTable)
    output.out << report::page_text(report::page_of(report));
  else
    print_message(output, report);
  return exit_code_of_verdict(report.verdict());
}

}  // namespace railgauge::cli

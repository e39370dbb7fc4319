// findings, baselines and their verbs
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/judged_text.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

// "" where the finding has no such figure.
std::string percent(bool has, double value) { return has ? fmt::format("{:+.2f} %", value) : ""; }

// The page of one finding; verbs that change it print it too.
int print_finding(const Output& output, const Finding& finding) {
  if (output.format != Format::kTable) {
    print_message(output, finding);
    return kExitPassed;
  }
  output.out << render_list(
      {{"finding", {finding.finding_id(), Tone::kHeading}},
       {"what", finding.summary()},
       {"kind", finding.kind()},
       {"state", finding.state()},
       {"until", finding.acknowledged_until()},
       {"worse by", percent(finding.has_worse_percent(), finding.worse_percent())},
       {"suspect", finding.suspect()},
       {"last good", finding.good_at()},
       {"since", finding.since()},
       {"before|after", sparkline(finding.before_levels(), finding.after_levels())},
       {"opened", finding.opened_at()},
       {"upgrade", finding.upgrade_id()},
       {"run", finding.run_id()}},
      output.colour);
  std::vector<std::vector<Cell>> rows;
  for (const FindingSeries& series : finding.series())
    rows.push_back({std::to_string(series.series_id()), series.name(),
                    series.has_before() ? value_text(series.before(), series.unit()) : "",
                    series.has_after() ? value_text(series.after(), series.unit()) : ""});
  if (!rows.empty())
    output.out << '\n'
               << render_table({{"SERIES", true}, {"NAME"}, {"BEFORE", true}, {"AFTER", true}},
                               rows, output.colour);
  output.out << headed_lines("same event", finding.same_event())
             << headed_lines("what its places have in common", finding.common())
             << headed_lines("changed just then", finding.causes())
             << headed_lines("not the cause", finding.excluded())
             << headed_lines("next", finding.next());
  rows.clear();
  for (const FindingStep& step : finding.steps())
    rows.push_back({step.at(), step.who(), step.action(), step.text()});
  if (!rows.empty())
    output.out << '\n' << render_table({{"AT"}, {"WHO"}, {"DID"}, {"TEXT"}}, rows, output.colour);
  return kExitPassed;
}

// Applies one step (ack, accept, resolve, dismiss, reopen). `seconds` bounds an acknowledgement.
Result<int> step_finding(Session& session, const Arguments& arguments, const std::string& action,
                         std::optional<double> seconds = {}) {
  FindingStepRequest request;
  request.set_finding_id(arguments.operand(0));
  request.set_action(action);
  request.set_text(arguments.value("note"));
  if (seconds) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    request.set_until_unix_seconds(std::chrono::duration<double>(now).count() + *seconds);
  }
  return print_finding(session.output, RG_TRY(call(session, rpc::kStepFinding, request)));
}

// Findings of one event together, at the place of the first of them in the list.
std::vector<std::vector<const Finding*>> by_event(const FindingList& list) {
  std::vector<std::vector<const Finding*>> out;
  std::map<std::string, std::size_t> known;
  for (const Finding& finding : list.findings()) {
    const std::string& id = finding.has_event_id() ? finding.event_id() : finding.finding_id();
    const auto [event, is_new] = known.try_emplace(id, out.size());
    if (is_new) out.emplace_back();
    out[event->second].push_back(&finding);
  }
  return out;
}

// Pinned levels with the present ones beside them.
int print_baselines(const Output& output, const BaselineList& list) {
  if (print_document(output, list, "baselines")) return kExitPassed;
  std::vector<std::vector<Cell>> rows;
  for (const Baseline& one : list.baselines())
    rows.push_back({std::to_string(one.series_id()), one.name(), one.kind(),
                    value_text(one.level(), one.unit()),
                    one.has_now() ? value_text(one.now(), one.unit()) : "",
                    percent(one.has_worse_percent(), one.worse_percent()), one.set_at(), one.who(),
                    one.note()});
  if (rows.empty()) {
    output.err << "railgauge: no baseline yet; railgauge baselines pin makes what the series give "
                  "now the golden one\n";
    return kExitPassed;
  }
  output.out << render_table({{"SERIES", true},
                              {"NAME"},
                              {"KIND"},
                              {"LEVEL", true},
                              {"NOW", true},
                              {"WORSE BY", true},
                              {"SET"},
                              {"BY"},
                              {"NOTE"}},
                             rows, output.colour);
  return kExitPassed;
}

}  // namespace

// Findings of one event are listed together, the later ones marked with '+'.
Result<int> list_findings(Session& session, const Arguments& arguments) {
  ListFindingsRequest request;
  request.set_state(arguments.value("state"));
  request.set_limit(RG_TRY(count_of(arguments, "limit", 100)));
  const FindingList list = RG_TRY(call(session, rpc::kListFindings, request));
  if (print_document(session.output, list, "findings")) return kExitPassed;
  std::vector<std::vector<Cell>> rows;
  std::size_t events = 0;
  for (const std::vector<const Finding*>& event : by_event(list)) {
    ++events;
    for (const Finding* finding : event)
      rows.push_back({(finding == event.front() ? "" : "+ ") + finding->finding_id(),
                      finding->state(), finding->kind(),
                      percent(finding->has_worse_percent(), finding->worse_percent()),
                      finding->opened_at(), finding->suspect(), finding->summary()});
  }
  if (rows.empty())
    session.output.err << "railgauge: no open finding\n";
  else
    session.output.out << render_table(
        {{"FINDING"}, {"STATE"}, {"KIND"}, {"WORSE BY", true}, {"OPENED"}, {"SUSPECT"}, {"WHAT"}},
        rows, session.output.colour);
  // The legend is printed only where a row is marked.
  if (events < rows.size())
    session.output.out << fmt::format("\n{} findings, {} events; +: same event as above\n",
                                      rows.size(), events);
  // Drill-downs repeat some unchanged pairs: the share that differs estimates the false alarms.
  if (list.measured_twice() > 0)
    session.output.out << fmt::format("\nfalse-alarm check: {} of {} repeats ({:.1f} %)\n",
                                      format_count(list.measured_twice_apart()),
                                      format_count(list.measured_twice()),
                                      100.0 * list.measured_twice_apart() / list.measured_twice());
  return kExitPassed;
}

// The steps of the finding come from the controller in the order of time.
Result<int> show_finding(Session& session, const Arguments& arguments) {
  FindingRef ref;
  ref.set_finding_id(arguments.operand(0));
  return print_finding(session.output, RG_TRY(call(session, rpc::kGetFinding, ref)));
}

// With --for the acknowledgement runs out and the finding opens again.
Result<int> acknowledge_finding(Session& session, const Arguments& arguments) {
  std::optional<double> seconds;
  if (arguments.has("for")) seconds = RG_TRY(seconds_of(arguments, "for", 0));
  return step_finding(session, arguments, "ack", seconds);
}

// The new level becomes the baseline: later losses are judged from there.
Result<int> accept_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, "accept");
}

// Fixed by default; --false marks a false alarm.
Result<int> resolve_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, arguments.has("false") ? "dismiss" : "resolve");
}

Result<int> reopen_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, "reopen");
}

// An empty request filters nothing: baselines of all kinds.
Result<int> list_baselines(Session& session, const Arguments&) {
  return print_baselines(session.output,
                         RG_TRY(call(session, rpc::kListBaselines, ListBaselinesRequest())));
}

// Kernel, metric and series limit which levels are pinned; an absent flag limits nothing.
Result<int> pin_baselines(Session& session, const Arguments& arguments) {
  PinRequest request;
  request.set_kernel(arguments.value("kernel"));
  request.set_metric(arguments.value("metric"));
  request.set_note(arguments.value("note"));
  if (arguments.has("series")) request.set_series_id(RG_TRY(count_of(arguments, "series", 1)));
  return print_baselines(session.output, RG_TRY(call(session, rpc::kPinBaselines, request)));
}

// Against the golden ones: what accepted losses add up to.
Result<int> diff_baselines(Session& session, const Arguments&) {
  ListBaselinesRequest request;
  request.set_kind("golden");
  return print_baselines(session.output, RG_TRY(call(session, rpc::kListBaselines, request)));
}

}  // namespace railgauge::cli

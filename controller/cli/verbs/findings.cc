// findings, baselines and their verbs
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/states.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/compared_figures.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/judged_text.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

// On a terminal, so that the page of a finding fits it.
constexpr std::size_t kLinesOfSeries = 8;
constexpr std::size_t kLinesOfSteps = 8;

// "" where the finding has no such figure.
std::string percent(bool has, double value) { return has ? fmt::format("{:+.2f} %", value) : ""; }

// Whether one night alone shows a slow part: such a finding is no open one yet, and ends by itself
// where nothing confirms it.
bool is_candidate(const Finding& finding) {
  return finding.kind() == "part" && finding.state() == text_of(FindingState::kNew);
}

std::string state_text(const Finding& finding) {
  return finding.state() + (is_candidate(finding) ? ", a candidate" : "");
}

// When it began at the earliest and at the latest.
std::string range_text(const Finding& finding) {
  if (!finding.has_begin_from()) return "";
  if (finding.begin_from() == finding.begin_until()) return finding.begin_from();
  return fmt::format("{} to {}", finding.begin_from(), finding.begin_until());
}

// The page of one finding; verbs that change it print it too.
int print_finding(const Output& output, const Finding& finding) {
  const bool colour = output.colour;
  std::string page = render_list(
      {{"finding", {finding.finding_id(), Tone::kHeading}},
       {"what", finding.summary()},
       {"kind", finding.kind()},
       {"state", state_text(finding)},
       {"until", finding.acknowledged_until()},
       {"caused by", finding.caused_by()},
       {"owner", finding.owner()},
       {"tags", fmt::format("{}", fmt::join(finding.tags(), " "))},
       {"worse by", percent(finding.has_worse_percent(), finding.worse_percent())},
       {"confidence", percent(finding.has_confidence_percent(), finding.confidence_percent())},
       {"metric", finding.metric()},
       {"noise", finding.noise()},
       {"measured again", finding.confirmation()},
       {"suspect", finding.suspect()},
       {"last good", finding.good_at()},
       {"since", finding.since()},
       {"range, 90 %", range_text(finding)},
       {"by the judge", finding.since_judged()},
       {"before|after", sparkline(finding.before_levels(), finding.after_levels())},
       {"opened", finding.opened_at()},
       {"upgrade", finding.upgrade_id()},
       {"run", finding.run_id()}},
      colour);
  const Rows series = rows_of(finding.series(), [](const FindingSeries& one) {
    return Row({one.series_id(), one.name(),
                one.has_before() ? value_text(one.before(), one.unit()) : "",
                one.has_after() ? value_text(one.after(), one.unit()) : ""});
  });
  const Rows runs = rows_of(finding.runs(), [](const FindingRun& run) {
    return Row({run.run_id(), run.kind(), run.state(),
                percent(run.has_worse_percent(), run.worse_percent()), run.figures(), run.who(),
                run.reason()});
  });
  const Rows steps = rows_of(finding.steps(), [](const FindingStep& step) {
    return Row({step.at(), step.who(), step.action(), step.text()});
  });
  page += render_short_section("SERIES>|NAME|BEFORE>|AFTER>", series, colour,
                               {.lines = kLinesOfSeries}) +
          render_short_section("AGAIN|AS|STATE|WORSE BY>|SERIES>|WHO|WHY", runs, colour,
                               {.lines = kLinesOfSteps}) +
          headed_lines("same event", finding.same_event()) +
          headed_lines("what its places have in common", finding.common()) +
          headed_lines("changed just then", finding.causes()) +
          headed_lines("not the cause", finding.excluded());
  page = page_with_end(
      page, headed_lines("next", finding.next()) +
                render_short_section("AT|WHO|DID|TEXT", steps, colour, {.lines = kLinesOfSteps}));
  return print_page(output, finding, page);
}

// Applies one step (ack, accept, resolve, dismiss, reopen). `seconds` bounds an acknowledgement.
Result<int> step_finding(Session& session, const Arguments& arguments, const std::string& action,
                         std::optional<double> seconds = {}) {
  auto request = request_for<FindingStepRequest>(arguments.operand(0));
  request.set_action(action);
  request.set_text(arguments.value("note"));
  if (seconds) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    request.set_until_unix_seconds(std::chrono::duration<double>(now).count() + *seconds);
  }
  return print_finding(session.output, RG_TRY(call(session, rpc::kStepFinding, request)));
}

// The same with a text that is no note: an owner, a tag, a cause.
Result<int> step_with_text(Session& session, const Arguments& arguments, const std::string& action,
                           const std::string& text) {
  auto request = request_for<FindingStepRequest>(arguments.operand(0));
  request.set_action(action);
  request.set_text(text);
  return print_finding(session.output, RG_TRY(call(session, rpc::kStepFinding, request)));
}

// Pinned levels with the present ones beside them.
int print_baselines(const Output& output, const BaselineList& list) {
  const Rows rows = rows_of(list.baselines(), [](const Baseline& one) {
    return Row({one.series_id(), one.name(), one.kind(), value_text(one.level(), one.unit()),
                one.has_now() ? value_text(one.now(), one.unit()) : "",
                percent(one.has_worse_percent(), one.worse_percent()), one.set_at(), one.who(),
                one.note()});
  });
  return print_list(output, list, "baselines",
                    "SERIES>|NAME|KIND|LEVEL>|NOW>|WORSE BY>|SET|BY|NOTE", rows,
                    "no baseline yet; railgauge baselines pin makes what the series give now the "
                    "golden one");
}

}  // namespace

namespace {

// Findings of one event, kind and state are a row: the one that names the event or else the largest
// loss, with all parts.
Row folded_row(std::vector<const Finding*> alike, bool is_first) {
  std::ranges::stable_sort(alike, [](const Finding* a, const Finding* b) {
    const auto rank = [](const Finding& one) {
      return std::pair(one.finding_id() != one.event_id(), -one.worse_percent());
    };
    return rank(*a) < rank(*b);
  });
  std::vector<std::string> suspects;
  std::vector<std::string> texts;
  const Finding* worst = alike.front();
  for (const Finding* one : alike) {
    if (!one->suspect().empty()) suspects.push_back(one->suspect());
    texts.push_back(one->summary());
    if (one->worse_percent() > worst->worse_percent()) worst = one;
  }
  const auto groups = group_texts(texts);
  std::string what = groups.front().text;
  if (groups.size() > 1) what += fmt::format("; more kinds: {}", groups.size() - 1);
  const Finding& first = *alike.front();
  return {(is_first ? "" : "+ ") + first.finding_id(),
          alike.size() > 1 ? std::to_string(alike.size()) : "",
          state_text(first),
          first.kind(),
          percent(worst->has_worse_percent(), worst->worse_percent()),
          first.opened_at(),
          fold_briefly(suspects),
          what};
}

}  // namespace

// Findings of one event are listed together, the later rows marked with '+'.
Result<int> list_findings(Session& session, const Arguments& arguments) {
  ListFindingsRequest request;
  request.set_state(arguments.value("state"));
  request.set_limit(RG_TRY(count_of(arguments, "limit", 100)));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_tag(arguments.value("tag"));
  const FindingList list = RG_TRY(call(session, rpc::kListFindings, request));
  const Output& output = session.output;
  if (print_document(output, list, "findings")) return kExitPassed;
  Rows rows;
  std::size_t events = 0;
  const auto event_of = [](const Finding& finding) {
    return finding.has_event_id() ? finding.event_id() : finding.finding_id();
  };
  for (const auto& event : grouped(list.findings(), event_of)) {
    ++events;
    std::vector<std::pair<std::string, std::vector<const Finding*>>> alike;
    for (const Finding* finding : event) {
      const std::string key = finding->state() + " " + finding->kind();
      const auto place = std::ranges::find(alike, key, &decltype(alike)::value_type::first);
      if (place == alike.end())
        alike.emplace_back(key, std::vector{finding});
      else
        place->second.push_back(finding);
    }
    // The row whose finding names the event comes first.
    std::stable_partition(alike.begin(), alike.end(), [](const auto& row) {
      return std::ranges::any_of(row.second, [](const Finding* finding) {
        return finding->finding_id() == finding->event_id();
      });
    });
    for (const auto& [key, findings] : alike)
      rows.push_back(folded_row(findings, &findings == &alike.front().second));
  }
  if (rows.empty()) print_notice(output, "no open finding");
  if (!rows.empty())
    output.out << render_short_table("FINDING|COUNT>|STATE|KIND|WORSE BY>|OPENED|SUSPECT|WHAT",
                                     rows, output.colour);
  const auto count = static_cast<std::size_t>(list.findings_size());
  // The legend is printed only where rows share an event.
  if (events < count)
    output.out << fmt::format("\n{}, {}{}\n", counted(count, "finding"), counted(events, "event"),
                              rows.size() > events ? "; +: same event as above" : "");
  if (std::ranges::any_of(list.findings(), is_candidate))
    output.out << "\na candidate: seen by one night; it ends by itself unless another night or a "
                  "retest confirms it\n";
  // Drill-downs repeat some unchanged pairs: the share that differs estimates the false alarms.
  if (list.measured_twice() > 0)
    output.out << fmt::format("\nfalse-alarm check: {} of {} repeats ({:.1f} %)\n",
                              format_count(list.measured_twice_apart()),
                              format_count(list.measured_twice()),
                              100.0 * list.measured_twice_apart() / list.measured_twice());
  return kExitPassed;
}

// The steps of the finding come from the controller in the order of time.
Result<int> show_finding(Session& session, const Arguments& arguments) {
  return print_finding(session.output, RG_TRY(call(session, rpc::kGetFinding,
                                                   request_for<FindingRef>(arguments.operand(0)))));
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

// Fixed by default; --false marks a false alarm, --rolled-back a cause that was taken back.
Result<int> resolve_finding(Session& session, const Arguments& arguments) {
  if (arguments.has("false") && arguments.has("rolled-back"))
    return fail(Code::kInvalidArgument,
                "findings resolve: --false and --rolled-back exclude each other");
  if (arguments.has("rolled-back")) return step_finding(session, arguments, "roll_back");
  return step_finding(session, arguments, arguments.has("false") ? "dismiss" : "resolve");
}

Result<int> investigate_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, "investigate");
}

// To the state that runs alone made of it.
Result<int> reset_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, "reset");
}

// The cause is the id of a finding, or words.
Result<int> downstream_finding(Session& session, const Arguments& arguments) {
  if (!arguments.has("of"))
    return fail(Code::kInvalidArgument,
                "findings downstream: --of CAUSE is needed: the id of a finding, or words");
  return step_with_text(session, arguments, "downstream", arguments.value("of"));
}

Result<int> note_finding(Session& session, const Arguments& arguments) {
  if (arguments.value("note").empty())
    return fail(Code::kInvalidArgument, "findings note: --note TEXT is needed");
  return step_finding(session, arguments, "comment");
}

// One tag a call: it is added, or taken away.
Result<int> tag_finding(Session& session, const Arguments& arguments) {
  if (arguments.has("add") == arguments.has("remove"))
    return fail(Code::kInvalidArgument, "findings tag: --add TAG or --remove TAG is needed");
  const bool adds = arguments.has("add");
  return step_with_text(session, arguments, adds ? "tag" : "untag",
                        arguments.value(adds ? "add" : "remove"));
}

// Its own series, or with --control the same on pairs that it does not touch.
Result<int> rerun_finding(Session& session, const Arguments& arguments) {
  auto request = request_for<MeasureFindingRequest>(arguments.operand(0));
  request.set_kind(arguments.has("control") ? "control" : "rerun");
  return print_finding(session.output, RG_TRY(call(session, rpc::kMeasureFinding, request)));
}

Result<int> reopen_finding(Session& session, const Arguments& arguments) {
  return step_finding(session, arguments, "reopen");
}

// Without --to nobody owns it.
Result<int> assign_finding(Session& session, const Arguments& arguments) {
  return step_with_text(session, arguments, "assign", arguments.value("to"));
}

// Its causes are looked for again around the new begin. The begin that is read first goes with the
// step: where somebody else moves it in between, the controller refuses.
Result<int> nudge_finding(Session& session, const Arguments& arguments) {
  if (arguments.has("earlier") == arguments.has("later"))
    return fail(Code::kInvalidArgument, "findings nudge: --earlier N or --later N is needed");
  const bool is_earlier = arguments.has("earlier");
  const auto figures =
      static_cast<int>(RG_TRY(count_of(arguments, is_earlier ? "earlier" : "later", 1)));
  auto request = request_for<FindingStepRequest>(arguments.operand(0));
  request.set_action("nudge");
  request.set_figures(is_earlier ? -figures : figures);
  const Finding seen =
      RG_TRY(call(session, rpc::kGetFinding, request_for<FindingRef>(arguments.operand(0))));
  request.set_since_seen(seen.has_since() ? seen.since() : "not known");
  return print_finding(session.output, RG_TRY(call(session, rpc::kStepFinding, request)));
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

// Lists golden baselines with the present levels: the difference is the sum of accepted losses.
Result<int> diff_baselines(Session& session, const Arguments&) {
  ListBaselinesRequest request;
  request.set_kind("golden");
  return print_baselines(session.output, RG_TRY(call(session, rpc::kListBaselines, request)));
}

}  // namespace railgauge::cli

#include "controller/findings/finding_service.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/contract.h"
#include "controller/findings/changes/measured_twice.h"
#include "controller/findings/failed_ports.h"
#include "controller/findings/finding_causes.h"
#include "controller/findings/finding_events.h"
#include "controller/findings/measured_again.h"
#include "controller/findings/part_cases.h"
#include "controller/findings/wrong_bytes.h"
#include "controller/nodes/known_nodes.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/series_measure.h"
#include "controller/upgrades/undo.h"
#include "controller/upgrades/upgrade_stack.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Findings of an answer whose request states no limit.
constexpr std::uint32_t kFindingsShown = 100;
// Series or findings that one request reads.
constexpr std::uint32_t kMostPinned = 100'000;
constexpr double kPercent = 100;
// Settled findings of a list whose figures are read.
constexpr std::size_t kSketchesRead = 200;
constexpr std::size_t kMostTags = 20;  // of one finding
constexpr std::size_t kMostTagBytes = 40;
constexpr std::size_t kMostCauseBytes = 200;
// Causes of an event that are lines of the page of a finding; all are differences of the answer.
constexpr int kCausesShown = 3;
constexpr std::size_t kMostOwnerBytes = 100;
constexpr int kMostNudged = 2;
// Points of a series that a study of a rollout reads.
constexpr std::uint32_t kPointsRead = 400;
// Newest events among which those of the finding's nodes are searched.
constexpr std::uint32_t kEventsRead = 20'000;
// Stacks of a node that a study reads, the newest first.
constexpr std::uint32_t kEpochsStudied = 100;
// Changed parts that are studied of one finding: each costs an estimate over all series.
constexpr std::size_t kPartsStudied = 3;
// Series that a study reads; each is read with all its points of the time.
constexpr std::size_t kSeriesStudied = 256;
// Series of one node in a study: more of one node say little more about the node.
constexpr std::size_t kSeriesOfNode = 4;
// The time before the finding that a study covers.
constexpr double kStudySeconds = 45 * 86'400.0;

// The measurement and its endpoints, as lists name a series.
std::string series_text(const store::SeriesRow& series) {
  return fmt::format("{} {}", metric_text(series, ""), fmt::join(series.endpoints, " "));
}

// An id that the caller mistyped is wrong use, not a missing part of the system.
Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
  return error;
}

// The state that people see: an acknowledgement that has run out counts as reopened.
store::FindingState shown_state(const store::FindingRow& row, double now) {
  const bool is_over =
      row.state == store::FindingState::kAcknowledged && row.until && *row.until < now;
  return is_over ? store::FindingState::kReopened : row.state;
}

// The finding without its series, causes and event.
api::Finding to_api(const store::FindingRow& row, double now) {
  auto out = new_document<api::Finding>();
  out.set_finding_id(row.finding_id);
  out.set_kind(row.kind);
  out.set_state(std::string(text_of(shown_state(row, now))));
  out.set_severity(row.severity);
  out.set_summary(row.summary);
  out.set_suspect(row.suspect);
  if (row.worse) out.set_worse_percent(kPercent * *row.worse);
  out.set_opened_at(rfc3339(row.opened_at));
  out.set_changed_at(rfc3339(row.changed_at));
  if (row.until) out.set_acknowledged_until(rfc3339(*row.until));
  if (!row.run_id.empty()) out.set_run_id(row.run_id);
  if (!row.upgrade_id.empty()) out.set_upgrade_id(row.upgrade_id);
  if (!row.node_id.empty()) out.set_node_id(row.node_id);
  if (!row.owner.empty()) out.set_owner(row.owner);
  for (const std::string& tag : row.tags) out.add_tags(tag);
  if (!row.caused_by.empty()) out.set_caused_by(row.caused_by);
  for (const store::FindingStepRow& step : row.steps) {
    api::FindingStep& told = *out.add_steps();
    told.set_at(rfc3339(step.at));
    told.set_who(step.who);
    told.set_action(step.action);
    told.set_text(step.text);
  }
  return out;
}

// Copies what a list shows beside the row.
void put(const store::FindingRow& row, const FindingSketch& sketch, api::Finding& out) {
  if (const auto confidence = confidence_percent(row)) out.set_confidence_percent(*confidence);
  if (!sketch.metric.empty()) out.set_metric(sketch.metric);
  if (sketch.noise) out.set_noise(std::string(word(*sketch.noise)));
  if (sketch.begin_from) out.set_begin_from(rfc3339(*sketch.begin_from));
  if (sketch.begin_until) out.set_begin_until(rfc3339(*sketch.begin_until));
}

// Adds the runs that were started for the finding, and the confirmation that follows from them.
Status put_runs(const store::Store& store, const store::FindingRow& whole, bool with_runs,
                api::Finding& out) {
  const std::vector<MeasuredAgain> runs = RG_TRY(measured_again(store, whole));
  if (const std::string state = confirmation_of(runs); !state.empty()) out.set_confirmation(state);
  for (const MeasuredAgain& run : runs) {
    if (!with_runs) break;
    api::FindingRun& told = *out.add_runs();
    told.set_run_id(run.run_id);
    told.set_kind(run.kind);
    told.set_at(rfc3339(run.at));
    told.set_who(run.who);
    told.set_state(run.state);
    told.set_reason(run.reason);
    if (run.worse) told.set_worse_percent(kPercent * *run.worse);
    told.set_figures(static_cast<std::uint32_t>(run.figures));
  }
  return {};
}

// A baseline with the loss of the present level against it.
api::Baseline to_api(const store::BaselineRow& row) {
  api::Baseline out;
  out.set_series_id(static_cast<std::uint32_t>(row.series_id));
  out.set_name(series_text(row.series));
  out.set_kind(row.kind);
  out.set_unit(row.series.unit);
  out.set_level(row.level);
  if (row.now) {
    out.set_now(*row.now);
    const double worse =
        row.series.larger_is_better ? 1 - *row.now / row.level : *row.now / row.level - 1;
    out.set_worse_percent(kPercent * worse);
  }
  out.set_set_at(rfc3339(row.set_at));
  out.set_who(row.who);
  out.set_note(row.note);
  if (!row.finding_id.empty()) out.set_finding_id(row.finding_id);
  return out;
}

// Reports whether the event is a report of the agents' watch or a replaced device.
bool is_hardware_event(const store::EventRow& event) {
  return event.kind.starts_with("watch_") || event.kind == kReplacedCause;
}

// Reports whether two series differ in their endpoints alone.
bool is_same_measure(const store::SeriesRow& a, const store::SeriesRow& b) {
  return a.revision == b.revision && a.meaning == b.meaning && a.rank == b.rank &&
         a.parameters == b.parameters;
}

// When each node got this change; the last time where it was undone and made again. Nodes without
// the change are absent.
std::map<std::string, double> times_of(
    const store::StackChange& change,
    const std::map<std::string, std::vector<store::EpochRow>>& pasts) {
  std::map<std::string, double> times;
  for (const auto& [node, epochs] : pasts)
    for (std::size_t i = 0; i + 1 < epochs.size() && !times.contains(node); ++i) {
      const auto parts = store::stack_changes(epochs[i + 1].parts, epochs[i].parts);
      if (std::ranges::find(parts, change) != parts.end()) times[node] = epochs[i].valid_from;
    }
  return times;
}

// Points to the upgrade's report. A slowdown that only one run showed pages nobody: under the
// policy `propose` it is measured again only if a person asks.
void add_upgrade_next(api::Finding& out) {
  out.add_next(fmt::format("railgauge upgrades show {}: what, where and why", out.upgrade_id()));
  const bool is_slower = out.kind() == "regression" || out.kind() == "mode_mix";
  if (is_slower && (out.state() == "new" || out.state() == "reopened"))
    out.add_next(fmt::format("{}: one more run, which confirms it or does not",
                             continue_command(out.upgrade_id())));
}

// Copies the explanation into the answer.
void put(const FindingCauses& causes, api::Finding& out) {
  if (causes.good_at) out.set_good_at(rfc3339(*causes.good_at));
  if (causes.since) out.set_since(rfc3339(*causes.since));
  if (causes.begin_from) out.set_begin_from(rfc3339(*causes.begin_from));
  if (causes.begin_until) out.set_begin_until(rfc3339(*causes.begin_until));
  if (causes.since_judged) out.set_since_judged(rfc3339(*causes.since_judged));
  out.mutable_before_levels()->Add(causes.before_levels.begin(), causes.before_levels.end());
  out.mutable_after_levels()->Add(causes.after_levels.begin(), causes.after_levels.end());
  for (const std::string& line : causes.causes) out.add_causes(line);
  for (const std::string& line : causes.excluded) out.add_excluded(line);
  for (const std::string& line : causes.next) out.add_next(line);
}

// Adds an estimate for each change of the stack that other nodes got at other times: it studies
// nodes that got the same change at other times: together they give more evidence than one node.
Status study_rollouts(const store::Store& store, const store::SeriesRow& moved, double opened_at,
                      FindingCauses& found) {
  if (found.parts.empty()) return {};
  RolloutFacts facts{.traits = traits_of(moved)};
  std::map<std::string, std::size_t> series_of;
  for (const store::SeriesRow& one : RG_TRY(store.list_series({.kernel = moved.kernel,
                                     .metric = moved.metric,
                                     .message_bytes = moved.message_bytes,
                                     .limit = kMostPinned}))) {
    const std::set<std::string> nodes = nodes_of(one);
    const auto wants = [&](const std::string& node) { return series_of[node] < kSeriesOfNode; };
    if (!is_same_measure(one, moved) || std::ranges::none_of(nodes, wants)) continue;
    if (facts.series.size() == kSeriesStudied) break;
    RolloutSeries& read = facts.series.emplace_back();
    read.nodes.assign(nodes.begin(), nodes.end());
    for (const std::string& node : nodes) ++series_of[node];
    const auto history =
        RG_TRY(store.history(one.series_id, opened_at - kStudySeconds, kPointsRead));
    read.points = passed_points(history);
  }
  std::map<std::string, std::vector<store::EpochRow>> pasts;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes)))
    if (series_of.contains(node.name))
      pasts[node.name] = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsStudied));
  for (const store::StackChange& part :
       std::span(found.parts).first(std::min(found.parts.size(), kPartsStudied))) {
    facts.what = store::text_of(part);
    facts.upgraded_at = times_of(part, pasts);
    const auto study = study_of(facts);
    if (!study) continue;
    const bool is_none = study->study.verdict == analysis::StudyVerdict::kNoRegression;
    (is_none ? found.excluded : found.causes).push_back(study->text);
  }
  return {};
}

// Adds when it began and which changes came at that time (finding_causes.h).
Status explain(const store::Store& store, const store::FindingRow& row,
               const std::vector<store::SeriesRow>& series, api::Finding& out) {
  FindingFacts facts = RG_TRY(facts_of(store, row, nodes_in_common(series)));
  std::set<std::string> ids;
  for (const NodePast& node : facts.nodes) ids.insert(node.node_id);
  for (store::EventRow& event : RG_TRY(store.list_events(kEventsRead)))
    if (is_hardware_event(event) && ids.contains(event.node_id))
      facts.events.push_back(std::move(event));
  FindingCauses found = causes_of(facts);
  RG_TRY_OK(study_rollouts(store, series.front(), row.opened_at, found));
  put(found, out);
  return {};
}

// The command that draws the matrix in which the part was found.
std::string matrix_command(const std::string& run_id, const PartEvidence& evidence) {
  std::string command = "railgauge runs matrix " + run_id;
  const std::vector<std::string_view> words = words_of(evidence.series());  // metric_text()'s
  if (!words.empty()) command += fmt::format(" --kernel {}", words.front());
  if (const auto unit = std::ranges::find(words, "B"); unit != words.end() && unit != words.begin())
    command += fmt::format(" --size {}", *std::prev(unit));
  if (evidence.has_rail()) command += fmt::format(" --rail {}", evidence.rail());
  if (!evidence.memory().empty()) command += " --memory " + evidence.memory();
  return command;
}

// Copies the evidence of a part into the answer.
void put_part(const store::FindingRow& row, api::Finding& out) {
  const PartEvidence evidence = part_evidence_of(row);
  if (evidence.has_good_at()) out.set_good_at(evidence.good_at());
  if (evidence.has_since()) out.set_since(evidence.since());
  *out.mutable_before_levels() = evidence.before_levels();
  *out.mutable_after_levels() = evidence.after_levels();
  out.add_causes(fmt::format(
      "{} of {} figures of the run that use it show half of the loss: {}", evidence.figures_for(),
      evidence.figures_for() + evidence.figures_against(), evidence.series()));
  for (const std::string& line : evidence.worst()) out.add_causes(line);
  for (const std::string& series : evidence.also())
    out.add_causes(fmt::format("seen by {} as well", series));
  if (evidence.has_retest()) out.add_causes(evidence.retest());
  *out.mutable_excluded() = evidence.ruled_out();
  if (!row.run_id.empty()) out.add_next(matrix_command(row.run_id, evidence) + ": the figures");
  const bool is_of_node = evidence.part() == "port" || evidence.part() == "node";
  if (is_of_node) out.add_next(fmt::format("railgauge preflight {}", evidence.first()));
  if (is_of_node && api::is_open(row.state))
    out.add_next(
        fmt::format("railgauge prove {}: after the repair, ends the finding", evidence.first()));
}

// The others of its event, what they have in common, and what speaks for each cause.
Status add_event(const store::Store& store, KeptRunPlaces& places, api::Finding& out) {
  for (const OpenEvent& event : RG_TRY(open_events(store, places))) {
    if (std::ranges::find(event.findings, out.finding_id(), &store::FindingRow::finding_id) ==
        event.findings.end())
      continue;
    out.set_event_id(event.findings.front().finding_id);
    for (const store::FindingRow& one : event.findings)
      if (one.finding_id != out.finding_id())
        out.add_same_event(fmt::format("{}: {}", one.finding_id, one.summary));
    for (const std::string& mark : event.common) out.add_common(mark);
    if (!out.upgrade_id().empty()) return {};  // its own screen scores them
    for (const analysis::Cause& cause : RG_TRY(scored_causes(store, event))) {
      if (out.differences_size() < kCausesShown) out.add_causes(cause_text(cause));
      *out.add_differences() = cause_message(cause);
    }
    return {};
  }
  return {};
}

}  // namespace

namespace {

// Reports whether a word of the suspect is one of the nodes or an endpoint of it.
bool names_one_of(const std::string& suspect, const std::set<std::string>& nodes) {
  return std::ranges::any_of(words_of(suspect), [&](std::string_view word) {
    return nodes.contains(std::string(word.substr(0, word.find('/'))));
  });
}

}  // namespace

Result<api::FindingList> FindingService::list(const api::ListFindingsRequest& request, double now) {
  const std::uint32_t limit = request.limit() == 0 ? kFindingsShown : request.limit();
  auto list = new_document<api::FindingList>();
  if (!request.run_id().empty()) {
    const auto run = store_.run_summary(request.run_id());
    if (!run) return tl::unexpected(as_wrong_use(run.error()));
    if (run->run.judged_at > 0) list.set_judged_at(rfc3339(run->run.judged_at));
  }
  std::set<std::string> nodes;
  if (!request.node_set().empty()) {
    const auto chosen = RG_TRY(choose_nodes(store_, request.node_set()));
    nodes.insert(chosen.begin(), chosen.end());
  }
  std::map<std::string, std::string> events;
  std::map<std::string, FindingSketch> sketches;
  for (const OpenEvent& event : RG_TRY(open_events(store_, places_)))
    for (std::size_t i = 0; i < event.findings.size(); ++i) {
      const std::string& id = event.findings[i].finding_id;
      events[id] = event.findings.front().finding_id;
      sketches[id] = event.sketches[i];
    }
  std::size_t read = 0;
  // Those that are closed are left out after reading, so that an acknowledgement's end counts.
  for (const store::FindingRow& row : RG_TRY(store_.read(store::read_findings, {}, kMostPinned))) {
    api::Finding finding = to_api(row, now);
    const bool is_closed = api::is_closed(row.state);
    if (request.state().empty() ? is_closed : finding.state() != request.state()) continue;
    if (!request.run_id().empty() && finding.run_id() != request.run_id()) continue;
    if (!nodes.empty() && !names_one_of(finding.suspect(), nodes)) continue;
    if (!request.tag().empty() && std::ranges::find(row.tags, request.tag()) == row.tags.end())
      continue;
    if (const auto event = events.find(finding.finding_id()); event != events.end())
      finding.set_event_id(event->second);
    // One whose series was pruned has no figures.
    auto sketch = sketches.find(row.finding_id);
    if (sketch == sketches.end()) {
      FindingSketch own;
      if (++read <= kSketchesRead) own = read_sketch(store_, row.finding_id).value_or(own);
      sketch = sketches.emplace(row.finding_id, std::move(own)).first;
    }
    put(row, sketch->second, finding);
    if (row.is_measured_again) {
      const store::FindingRow whole = RG_TRY(store_.read(store::read_finding, row.finding_id));
      RG_TRY_OK(put_runs(store_, whole, false, finding));
    }
    *list.add_findings() = std::move(finding);
    if (static_cast<std::uint32_t>(list.findings_size()) == limit) break;
  }
  if (const auto repeats = RG_TRY(store_.read(store::sum_repeat_counts, now - kRepeatSeconds))) {
    list.set_measured_twice(static_cast<std::uint32_t>(repeats->figures));
    list.set_measured_twice_apart(static_cast<std::uint32_t>(repeats->apart));
  }
  return list;
}

Result<api::Finding> FindingService::get(const std::string& finding_id, double now) {
  const auto row = store_.read(store::read_finding, finding_id);
  if (!row) return tl::unexpected(as_wrong_use(row.error()));
  api::Finding out = to_api(*row, now);
  std::vector<store::SeriesRow> all;
  for (const store::FindingSeriesRow& moved : row->series) {
    const store::SeriesRow& series =
        all.emplace_back(RG_TRY(store_.read(store::read_one_series, moved.series)));
    api::FindingSeries& told = *out.add_series();
    told.set_series_id(static_cast<std::uint32_t>(moved.series));
    told.set_name(series_text(series));
    told.set_unit(series.unit);
    if (moved.before) told.set_before(*moved.before);
    if (moved.after) told.set_after(*moved.after);
  }
  put(*row, RG_TRY(read_sketch(store_, finding_id)), out);
  RG_TRY_OK(put_runs(store_, *row, true, out));
  // An upgrade's own screen explains its findings.
  if (row->upgrade_id.empty() && !all.empty()) RG_TRY_OK(explain(store_, *row, all, out));
  if (!row->upgrade_id.empty()) add_upgrade_next(out);
  if (row->kind == kPartKind) put_part(*row, out);
  const bool is_of_node = row->kind == kWrongBytesKind || row->kind == kFailedPortKind;
  if (is_of_node && row->upgrade_id.empty() && !row->node_id.empty())
    out.add_next(fmt::format("railgauge preflight {}", row->suspect));
  RG_TRY_OK(add_event(store_, places_, out));
  return out;
}

namespace {

// The time to which the request moves the begin, as the text of the step. kInvalidArgument: no such
// figure, the finding rests on no series, or its begin is no longer the one that the caller read.
Result<std::string> nudged(const store::Store& store, const api::FindingStepRequest& request) {
  const auto wrong = [&](const std::string& why) {
    return fail(Code::kInvalidArgument,
                fmt::format("finding {}: nudge: {}", request.finding_id(), why));
  };
  if (request.figures() == 0 || request.figures() < -kMostNudged || request.figures() > kMostNudged)
    return wrong(fmt::format("figures {}: -2, -1, 1 or 2 is needed", request.figures()));
  const store::FindingRow row = RG_TRY(store.read(store::read_finding, request.finding_id()));
  if (row.series.empty() || !row.upgrade_id.empty())
    return wrong("its begin is no figure of a series");
  std::vector<store::SeriesRow> all;
  for (const store::FindingSeriesRow& moved : row.series)
    all.push_back(RG_TRY(store.read(store::read_one_series, moved.series)));
  const FindingFacts facts = RG_TRY(facts_of(store, row, nodes_in_common(all)));
  if (request.has_since_seen()) {
    const auto since = causes_of(facts).since;
    const std::string present = since ? rfc3339(*since) : "not known";
    if (present != request.since_seen())
      return wrong(fmt::format("its begin is {}, not {} as was seen: read the finding again",
                               present, in_quotes(request.since_seen())));
  }
  const auto at = moved_begin(facts, request.figures());
  if (!at) return wrong("there is no such figure between the first one and the finding's opening");
  return rfc3339(*at);
}

}  // namespace

namespace {

// A tag is one word, so that a filter and a command can name it.
bool is_tag(std::string_view text) {
  constexpr std::string_view kOthers = "._-:/";
  return !text.empty() && text.size() <= kMostTagBytes &&
         std::ranges::all_of(text, [&](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || kOthers.find(letter) != kOthers.npos;
         });
}

// Reports whether the step changes something: a tag that is there already does not.
// kInvalidArgument: the text is none of the action, or the action is the controller's own.
Result<bool> check_step(const store::Store& store, const api::FindingStepRequest& request) {
  const std::string& action = request.action();
  const auto wrong = [&](const std::string& why) {
    return fail(Code::kInvalidArgument,
                fmt::format("finding {}: {}: {}", request.finding_id(), action, why));
  };
  if (action == kRerun || action == kControlRun || action == "worse")
    return wrong("the controller adds it; railgauge findings rerun starts a run");
  if (action == "assign" && request.text().size() > kMostOwnerBytes)
    return wrong(fmt::format("an owner has {} bytes at most", kMostOwnerBytes));
  if (action == "downstream" && (request.text().empty() || request.text().size() > kMostCauseBytes))
    return wrong(
        fmt::format("its cause is needed, the id of a finding or {} bytes of words at "
                    "most",
                    kMostCauseBytes));
  if (action == "comment" && request.text().empty()) return wrong("a text is needed");
  if (action != "tag" && action != "untag") return true;
  if (!is_tag(request.text()))
    return wrong(fmt::format("{} is no tag: 1 to {} letters, digits and . _ - : / are",
                             in_quotes(request.text()), kMostTagBytes));
  const store::FindingRow row = RG_TRY(store.read(store::read_finding, request.finding_id()));
  const bool has = std::ranges::find(row.tags, request.text()) != row.tags.end();
  if (action == "untag" && !has) return wrong(fmt::format("it has no tag {}", request.text()));
  if (action == "tag" && !has && row.tags.size() >= kMostTags)
    return wrong(fmt::format("it has {} tags, the most there may be", kMostTags));
  return action == "untag" || !has;
}

}  // namespace

Result<api::Finding> FindingService::step(const api::FindingStepRequest& request,
                                          const std::string& who, double now) {
  const auto changes = check_step(store_, request);
  if (!changes) return tl::unexpected(as_wrong_use(changes.error()));
  if (!*changes) return get(request.finding_id(), now);
  store::FindingStepRow step{
      .at = now, .who = who, .action = request.action(), .text = request.text()};
  if (request.has_until_unix_seconds()) step.until = request.until_unix_seconds();
  // A nudge is relative: between its reading and its writing there is no other one.
  std::unique_lock nudging(nudging_, std::defer_lock);
  if (step.action == "nudge") {
    nudging.lock();
    auto text = nudged(store_, request);
    if (!text) return tl::unexpected(as_wrong_use(text.error()));
    step.text = std::move(*text);
  }
  const Status stepped =
      store_.write(store::write_finding_step, request.finding_id(), std::move(step));
  if (nudging) nudging.unlock();
  if (!stepped) return tl::unexpected(as_wrong_use(stepped.error()));
  return get(request.finding_id(), now);
}

Result<api::BaselineList> FindingService::pin(const api::PinRequest& request,
                                              const std::string& who, double now) {
  store::ResultsFilter filter{
      .kernel = request.kernel(), .metric = request.metric(), .limit = kMostPinned};
  if (!request.node_set().empty()) filter.nodes = RG_TRY(choose_nodes(store_, request.node_set()));
  std::vector<store::BaselineRow> rows;
  for (const store::SeriesRow& series : RG_TRY(store_.list_series(filter))) {
    if (request.has_series_id() && series.series_id != request.series_id()) continue;
    rows.push_back({.series_id = series.series_id,
                    .kind = "golden",
                    .set_at = now,
                    .who = who,
                    .note = request.note()});
  }
  if (rows.empty())
    return fail(Code::kInvalidArgument,
                "no series fits; railgauge history lists those that there are");
  RG_TRY_OK(store_.write(store::write_baselines, std::move(rows)));
  api::ListBaselinesRequest golden;
  golden.set_kind("golden");
  return baselines(golden);
}

Result<api::BaselineList> FindingService::baselines(const api::ListBaselinesRequest& request) {
  auto list = new_document<api::BaselineList>();
  for (const store::BaselineRow& row : RG_TRY(store_.read(store::read_baselines, request.kind())))
    *list.add_baselines() = to_api(row);
  return list;
}

}  // namespace railgauge

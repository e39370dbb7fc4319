#include "controller/store/queries/remarks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/text/lines.h"

namespace railgauge::store {
namespace {

constexpr std::array<std::string_view, 4> kNoteSubjects{"node", "run", "series", "fabric"};

constexpr std::string_view kDownstreamAction = "downstream";
constexpr std::string_view kResetAction = "reset";
// Whose steps are no person's: the judges of runs and of upgrades.
constexpr std::string_view kJudgeWho = "judge";
// A cause of a cause, and so on, is followed so far.
constexpr int kMostCauses = 100;

using States = std::uint32_t;  // a bit for each FindingState
constexpr States kAnyState = ~States{0};
template <class... State>
constexpr States states(State... state) {
  return ((States{1} << static_cast<unsigned>(state)) | ...);
}

// One action on a finding: from which states it is allowed, and the state after it.
struct Transition {
  std::string_view action;
  States from;
  std::optional<FindingState> to;  // absent: the state stays
};
using enum FindingState;
using api::CheckState;
constexpr States kOpen =
    states(kNew, kConfirmed, kReopened, kAcknowledged, kInvestigating, kDownstream);
constexpr States kOfAPerson =
    states(kAcknowledged, kInvestigating, kDownstream, kAccepted, kFixed, kRolledBack, kFalse);
constexpr std::array kTransitions{
    Transition{"confirm", states(kNew, kReopened), kConfirmed},
    Transition{"ack", kOpen, kAcknowledged},
    Transition{"investigate", kOpen, kInvestigating},
    Transition{kDownstreamAction, kOpen, kDownstream},  // of what the step's text names
    Transition{"accept", kOpen, kAccepted},
    Transition{"resolve", kOpen | states(kAccepted), kFixed},
    Transition{"roll_back", kOpen | states(kAccepted), kRolledBack},
    Transition{"dismiss", kOpen, kFalse},
    Transition{"reopen", kOfAPerson, kReopened},
    Transition{kResetAction, kOfAPerson, std::nullopt},  // to what runs alone made of it
    Transition{"worse", kAnyState, std::nullopt},        // than it was confirmed
    Transition{"comment", kAnyState, std::nullopt},
    Transition{"assign", kAnyState, std::nullopt},  // to its owner, the step's text
    Transition{"tag", kAnyState, std::nullopt},     // the step's text; likewise "untag"
    Transition{"untag", kAnyState, std::nullopt},
    Transition{"rerun", kAnyState, std::nullopt},  // by the run of the step's text
    Transition{"control", kAnyState, std::nullopt},
    Transition{"nudge", kAnyState,
               std::nullopt}};  // its begin, to the time that is the step's text

// kDataLoss: the database holds a text that is no state.
Result<FindingState> finding_state_of(std::string_view finding_id, std::string_view text) {
  const auto state = api::state_of<FindingState>(text);
  if (state) return *state;
  return fail(Code::kDataLoss, fmt::format("finding {}: unknown state {}", finding_id, text));
}

// Absent for "".
Result<std::optional<std::int64_t>> find_id(Connection& connection, std::string_view what,
                                            std::string_view sql, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto id = RG_TRY(connection.integer(sql, name));
  if (!id) return fail(Code::kNotFound, fmt::format("{} {}: not found", what, name));
  return id;
}
Result<std::optional<std::int64_t>> id_of_node(Connection& connection, std::string_view node_id) {
  return find_id(connection, "node", "SELECT id FROM node WHERE node_id=?1", node_id);
}
Result<std::optional<std::int64_t>> find_run(Connection& connection, std::string_view run_id) {
  return find_id(connection, "run", "SELECT id FROM run WHERE run_id=?1", run_id);
}

Result<CheckState> worst_of(const PreflightRow& preflight) {
  CheckState worst = CheckState::kWaived;
  for (const CheckRow& check : preflight.checks) {
    const auto state = api::state_of<CheckState>(check.state);
    if (!state)
      return fail(
          Code::kInvalidArgument,
          fmt::format("preflight of {}: check {}: state {} is not one of {}", preflight.node_id,
                      check.check_id, check.state, fmt::join(texts_of(CheckState()), ", ")));
    worst = std::max(worst, *state);
  }
  return preflight.checks.empty() ? CheckState::kUnknown : worst;
}

Status insert_step(Connection& connection, std::int64_t finding, const FindingStepRow& step) {
  return connection.execute(
      "INSERT INTO finding_step (finding, number, at, who, action, text) SELECT ?1, "
      "coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM finding_step WHERE finding=?1",
      finding, step.at, step.who, step.action, step.text);
}

Status insert_series(Connection& connection, std::int64_t id, const FindingRow& finding) {
  for (const FindingSeriesRow& series : finding.series) {
    if (!RG_TRY(connection.integer("SELECT id FROM series WHERE id=?1", series.series)))
      return fail(Code::kNotFound, fmt::format("finding {}: there is no series {}",
                                               finding.finding_id, series.series));
    RG_TRY_OK(connection.execute(
        "INSERT INTO finding_series (finding, series, before, after) VALUES (?1, ?2, ?3, ?4)", id,
        series.series, series.before, series.after));
  }
  return {};
}

Status check_evidence(Connection& connection, const FindingRow& finding) {
  if (RG_TRY(connection.integer("SELECT json_valid(?1)", finding.evidence)).value_or(0) != 0)
    return {};
  return fail(Code::kInvalidArgument,
              fmt::format("finding {}: its evidence is no JSON", finding.finding_id));
}

}  // namespace

Status write_preflight(Connection& connection, const PreflightRow& preflight) {
  const CheckState state = RG_TRY(worst_of(preflight));
  const auto node = RG_TRY(id_of_node(connection, preflight.node_id));
  if (!node) return fail(Code::kInvalidArgument, "preflight: it names no node");
  const auto run = RG_TRY(find_run(connection, preflight.run_id));
  RG_TRY_OK(
      connection.execute("DELETE FROM preflight WHERE node=?1 AND at=?2", *node, preflight.at));
  RG_TRY_OK(
      connection.execute("INSERT INTO preflight (node, run, at, state) VALUES (?1, ?2, ?3, ?4)",
                         *node, run, preflight.at, state));
  const std::int64_t id = connection.last_id();
  for (std::size_t i = 0; i < preflight.checks.size(); ++i) {
    const CheckRow& check = preflight.checks[i];
    RG_TRY_OK(connection.execute(
        "INSERT INTO preflight_check (preflight, number, check_id, subject, state, observed, why, "
        "remedy) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        id, i, check.check_id, check.subject, check.state, check.observed, check.why,
        check.remedy));
  }
  return {};
}

Status write_finding(Connection& connection, const FindingRow& finding) {
  if (RG_TRY(find_id(connection, "finding", "SELECT count(*) FROM finding WHERE finding_id=?1",
                     finding.finding_id))
          .value_or(1) != 0)
    return fail(Code::kAlreadyExists,
                fmt::format("finding {}: its id is empty or taken", finding.finding_id));
  RG_TRY_OK(check_evidence(connection, finding));
  const auto run = RG_TRY(find_run(connection, finding.run_id));
  const auto node = RG_TRY(id_of_node(connection, finding.node_id));
  const auto upgrade = RG_TRY(find_id(
      connection, "upgrade", "SELECT id FROM upgrade WHERE upgrade_id=?1", finding.upgrade_id));
  RG_TRY_OK(connection.execute(
      "INSERT INTO finding (finding_id, kind, state, severity, run, node, suspect, summary, "
      "evidence, opened_at, changed_at, upgrade, worse) VALUES (?1, ?2, 'new', ?3, ?4, ?5, ?6, ?7, "
      "?8, ?9, ?9, ?10, ?11)",
      finding.finding_id, finding.kind, finding.severity, run, node, finding.suspect,
      finding.summary, finding.evidence, finding.opened_at, upgrade, finding.worse));
  const std::int64_t id = connection.last_id();
  RG_TRY_OK(insert_series(connection, id, finding));
  return insert_step(connection, id,
                     {.at = finding.opened_at, .action = "opened", .text = finding.summary});
}

namespace {

// A finding is no effect of itself, over others neither. Another cause than a finding is words.
Status check_cause(Connection& connection, std::string_view finding_id, const std::string& text) {
  std::string cause = text;
  for (int i = 0; i < kMostCauses && !cause.empty(); ++i) {
    if (cause == finding_id)
      return fail(
          Code::kInvalidArgument,
          fmt::format("finding {}: downstream of {}: it would be its own cause", finding_id, text));
    auto names = RG_TRY(connection.column<std::string>(
        "SELECT text FROM finding JOIN finding_step ON finding_step.finding=finding.id WHERE "
        "finding_id=?1 AND state='downstream' AND action='downstream' ORDER BY number DESC LIMIT 1",
        cause));
    cause = names.empty() ? "" : std::move(names.front());
  }
  return {};
}

// The state that runs alone made of the finding: people's steps are left out. A level that a person
// accepted with it is no baseline any more. kFailedPrecondition: no person set its state.
Result<FindingState> reset(Connection& connection, std::string_view finding_id, std::int64_t id,
                           FindingState now) {
  FindingState state = kNew;
  for (const std::string& action : RG_TRY(connection.column<std::string>(
           "SELECT action FROM finding_step WHERE finding=?1 AND who=?2 ORDER BY number", id,
           kJudgeWho))) {
    const auto way = std::ranges::find(kTransitions, action, &Transition::action);
    if (way != kTransitions.end()) state = way->to.value_or(state);
  }
  if (state == now)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("finding {}: reset: a run made it {}, no person", finding_id, text_of(state)));
  RG_TRY_OK(connection.execute("DELETE FROM baseline WHERE finding=?1 AND kind='accepted'", id));
  return api::is_open(state) ? state : kReopened;
}

}  // namespace

Status write_finding_step(Connection& connection, std::string_view finding_id,
                          const FindingStepRow& step) {
  std::int64_t id = 0;
  std::string text;
  if (!RG_TRY(connection.row(std::tie(id, text),
                             "SELECT id, state FROM finding WHERE finding_id=?1", finding_id)))
    return fail(Code::kNotFound, fmt::format("finding {}: not found", finding_id));
  const FindingState state = RG_TRY(finding_state_of(finding_id, text));
  const auto is_named = [&](const Transition& one) { return one.action == step.action; };
  if (std::ranges::none_of(kTransitions, is_named))
    return fail(Code::kInvalidArgument,
                fmt::format("finding {}: {} is no action; ack, investigate, downstream, accept, "
                            "resolve, roll_back, dismiss, reopen, reset, confirm, comment, assign, "
                            "tag, untag and nudge are",
                            finding_id, step.action));
  const auto way = std::ranges::find_if(kTransitions, [&](const Transition& one) {
    return is_named(one) && (one.from & states(state)) != 0;
  });
  if (way == kTransitions.end())
    return fail(Code::kFailedPrecondition,
                fmt::format("finding {}: {}: it is {}", finding_id, step.action, text_of(state)));
  std::optional<FindingState> to = way->to;
  if (step.action == kResetAction) to = RG_TRY(reset(connection, finding_id, id, state));
  if (to == kDownstream) RG_TRY_OK(check_cause(connection, finding_id, step.text));
  RG_TRY_OK(
      connection.execute("UPDATE finding SET state=coalesce(?2, state), changed_at=?3, "
                         "acknowledged_until=iif(?2 IS NULL, acknowledged_until, ?4) WHERE id=?1",
                         id, to, step.at, step.until));
  // The accepted level becomes the baseline of its series.
  if (step.action == "accept")
    RG_TRY_OK(connection.execute(
        "INSERT OR REPLACE INTO baseline (series, kind, level, points, set_at, who, note, finding) "
        "SELECT series, 'accepted', after, 0, ?2, ?3, ?4, ?1 FROM finding_series WHERE finding=?1 "
        "AND after IS NOT NULL",
        id, step.at, step.who, step.text));
  return insert_step(connection, id, step);
}

Status write_finding_again(Connection& connection, const FindingRow& finding,
                           const FindingStepRow& step) {
  RG_TRY_OK(write_finding_step(connection, finding.finding_id, step));
  RG_TRY_OK(check_evidence(connection, finding));
  const auto id = RG_TRY(find_id(connection, "finding",
                                 "SELECT id FROM finding WHERE finding_id=?1", finding.finding_id));
  const auto run = RG_TRY(find_run(connection, finding.run_id));
  RG_TRY_OK(connection.execute(
      "UPDATE finding SET severity=?2, run=?3, suspect=?4, summary=?5, evidence=?6, worse=?7 WHERE "
      "id=?1",
      *id, finding.severity, run, finding.suspect, finding.summary, finding.evidence,
      finding.worse));
  RG_TRY_OK(connection.execute("DELETE FROM finding_series WHERE finding=?1", *id));
  return insert_series(connection, *id, finding);
}

Status write_judged(Connection& connection, std::string_view run_id, double at) {
  return connection.execute(
      "UPDATE run SET judged_at=coalesce(judged_at, ?2), findings_new=(SELECT count(*) FROM "
      "finding "
      "WHERE finding.run=run.id AND finding.state IN ('new', 'reopened')), "
      "findings_confirmed=max(findings_confirmed, (SELECT count(*) FROM finding WHERE "
      "finding.run=run.id AND finding.state='confirmed')) WHERE run_id=?1",
      run_id, at);
}

Result<std::vector<std::string>> read_unjudged(Connection& connection, double since, double until) {
  return connection.column<std::string>(
      "SELECT run_id FROM run WHERE state='ended' AND judged_at IS NULL AND ended_at>=?1 AND "
      "ended_at<?2 ORDER BY ended_at, id",
      since, until);
}

Status write_operator_note(Connection& connection, const OperatorNoteRow& note) {
  if (std::ranges::find(kNoteSubjects, note.subject_kind) == kNoteSubjects.end() ||
      note.text.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("note about {} {}: it needs a text and one of {}", note.subject_kind,
                            note.subject, fmt::join(kNoteSubjects, ", ")));
  return connection.execute(
      "INSERT INTO operator_note (at, who, subject_kind, subject, text) VALUES (?1, ?2, ?3, ?4, "
      "?5)",
      note.at, note.who, note.subject_kind, note.subject, note.text);
}

// --- reading -----------------------------------------------------------------------------------

namespace {

constexpr std::string_view kFindingColumns =
    "SELECT finding_id, finding.kind, finding.state, severity, coalesce(run_id, ''), "
    "coalesce(node_id, "
    "''), suspect, summary, evidence, opened_at, changed_at, finding.id, coalesce(upgrade_id, ''), "
    "worse, acknowledged_until, coalesce((SELECT text FROM finding_step WHERE "
    "finding=finding.id AND action='assign' ORDER BY number DESC LIMIT 1), ''), "
    "coalesce((SELECT group_concat(text, ' ') FROM (SELECT text, action, max(number) FROM "
    "finding_step WHERE finding=finding.id AND action IN ('tag', 'untag') GROUP BY text) WHERE "
    "action='tag'), ''), iif(finding.state='downstream', coalesce((SELECT text FROM finding_step "
    "WHERE finding=finding.id AND action='downstream' ORDER BY number DESC LIMIT 1), ''), ''), "
    "EXISTS (SELECT 1 FROM finding_step WHERE finding=finding.id AND action IN ('rerun', "
    "'control')) FROM finding "
    "LEFT JOIN run ON run.id=finding.run LEFT JOIN node ON "
    "node.id=finding.node LEFT JOIN upgrade ON upgrade.id=finding.upgrade ";

// Whether the finding of that id is closed. Words that are no id are not.
Result<bool> is_closed_id(Connection& connection, std::string_view finding_id) {
  return RG_TRY(connection.integer("SELECT count(*) FROM finding WHERE finding_id=?1 AND state IN "
                                   "('fixed', 'false', 'rolled_back')",
                                   finding_id))
             .value_or(0) != 0;
}

Result<FindingRow> finding_of(Connection& connection, const Rows& rows, std::int64_t& id) {
  FindingRow row;
  std::string state;
  std::string tags;
  rows.read(row.finding_id, row.kind, state, row.severity, row.run_id, row.node_id, row.suspect,
            row.summary, row.evidence, row.opened_at, row.changed_at, id, row.upgrade_id, row.worse,
            row.until, row.owner, tags, row.caused_by, row.is_measured_again);
  row.state = RG_TRY(finding_state_of(row.finding_id, state));
  for (const std::string_view tag : words_of(tags)) row.tags.emplace_back(tag);
  std::ranges::sort(row.tags);
  if (!row.caused_by.empty()) row.is_cause_over = RG_TRY(is_closed_id(connection, row.caused_by));
  return row;
}

}  // namespace

Result<std::vector<FindingRow>> read_findings(Connection& connection,
                                              std::optional<FindingState> state,
                                              std::uint32_t limit) {
  std::vector<FindingRow> findings;
  Rows rows = RG_TRY(
      connection.query(std::string(kFindingColumns) +
                           "WHERE ?1 IS NULL OR finding.state=?1 ORDER BY finding.id DESC LIMIT ?2",
                       state, limit));
  std::int64_t id = 0;
  while (RG_TRY(rows.next())) findings.push_back(RG_TRY(finding_of(connection, rows, id)));
  return findings;
}

Result<FindingRow> read_finding(Connection& connection, std::string_view finding_id) {
  std::int64_t id = 0;
  Rows rows =
      RG_TRY(connection.query(std::string(kFindingColumns) + "WHERE finding_id=?1", finding_id));
  if (!RG_TRY(rows.next()))
    return fail(Code::kNotFound, fmt::format("finding {}: not found", finding_id));
  FindingRow finding = RG_TRY(finding_of(connection, rows, id));
  using Series = FindingSeriesRow;
  finding.series = RG_TRY(connection.list(
      Columns{&Series::series, &Series::before, &Series::after},
      "SELECT series, before, after FROM finding_series WHERE finding=?1 ORDER BY series", id));
  using Step = FindingStepRow;
  finding.steps = RG_TRY(connection.list(
      Columns{&Step::at, &Step::who, &Step::action, &Step::text},
      "SELECT at, who, action, text FROM finding_step WHERE finding=?1 ORDER BY number", id));
  return finding;
}

namespace {

constexpr std::string_view kPreflightColumns =
    "SELECT preflight.id, at, preflight.state, coalesce(run_id, '') FROM preflight JOIN node ON "
    "node.id=node LEFT JOIN run ON run.id=run WHERE node_id=?1 AND ";

// The first of `found`, with its checks.
Result<PreflightRow> preflight_of(Connection& connection, std::string_view node_id,
                                  Result<Rows> found) {
  PreflightRow preflight{.node_id = std::string(node_id)};
  std::int64_t id = 0;
  Rows rows = RG_TRY(std::move(found));
  if (!RG_TRY(rows.next()))
    return fail(Code::kNotFound, fmt::format("preflight of {}: not found", node_id));
  rows.read(id, preflight.at, preflight.state, preflight.run_id);
  preflight.checks = RG_TRY(connection.list(
      Columns{&CheckRow::check_id, &CheckRow::subject, &CheckRow::state, &CheckRow::observed,
              &CheckRow::why, &CheckRow::remedy},
      "SELECT check_id, subject, state, observed, why, remedy FROM preflight_check WHERE "
      "preflight=?1 ORDER BY number",
      id));
  return preflight;
}

}  // namespace

Result<PreflightRow> read_preflight(Connection& connection, std::string_view node_id,
                                    std::string_view run_id) {
  return preflight_of(connection, node_id,
                      connection.query(std::string(kPreflightColumns) +
                                           "(?2='' OR run_id=?2) ORDER BY at DESC LIMIT 1",
                                       node_id, run_id));
}

Result<PreflightRow> read_preflight_between(Connection& connection, std::string_view node_id,
                                            double from, double until) {
  return preflight_of(
      connection, node_id,
      connection.query(std::string(kPreflightColumns) + "at>=?2 AND at<?3 ORDER BY at DESC LIMIT 1",
                       node_id, from, until));
}

Result<std::vector<OperatorNoteRow>> read_operator_notes(Connection& connection,
                                                         std::string_view subject_kind,
                                                         std::string_view subject) {
  using Row = OperatorNoteRow;
  return connection.list(
      Columns{&Row::at, &Row::who, &Row::subject_kind, &Row::subject, &Row::text},
      "SELECT at, who, subject_kind, subject, text FROM operator_note WHERE "
      "subject_kind=?1 AND subject=?2 ORDER BY id",
      subject_kind, subject);
}

}  // namespace railgauge::store

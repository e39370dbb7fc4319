#include "controller/cli/mcp/documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/site/report_calls.h"
#include "controller/report/gather.h"
#include "controller/report/site_report.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli::mcp {
namespace {

using namespace railgauge::api;

constexpr int kMostEvents = 5'000;  // that the controller lists
constexpr double kDaySeconds = 24 * 3600.0;

// `message` as a document; `command` is what the CLI is called with for the whole of it.
template <class Message>
Document document(Message message, std::string rows, const std::string& command) {
  return {.message = std::make_unique<Message>(std::move(message)),
          .rows = std::move(rows),
          .command = "railgauge " + command};
}

// "railgauge runs show ID".
std::string command_for(std::string_view verb, const Wanted& wanted) {
  return fmt::format("{} {}", verb, shell_quoted(wanted.text("id")));
}

// By the controller's clock, which made the times of what it stored.
double controllers_now(Reads& reads) {
  const auto told = reads.ask(rpc::kGetInstallation, InstallationRequest());
  const auto now = told ? parse_calendar(told->now_at()) : std::nullopt;
  return now.value_or(static_cast<double>(std::time(nullptr)));
}

// The argument `since` as seconds since 1970; nothing where it was not given.
Result<std::optional<double>> since_of(Reads& reads, const Wanted& wanted) {
  const std::string text = wanted.text("since");
  if (text.empty()) return std::nullopt;
  const auto time = parse_time(text, controllers_now(reads));
  if (!time) return fail(time.error().code, "since: " + time.error().message);
  return *time;
}

Result<Document> list_nodes(Reads& reads, const Wanted& wanted) {
  ListNodesRequest request;
  request.set_node_set(wanted.text("nodes"));
  return document(RG_TRY(reads.ask(rpc::kListNodes, request)), "nodes", "nodes");
}

Result<Document> list_runs(Reads& reads, const Wanted& wanted) {
  ListRunsRequest request;
  request.set_limit(wanted.window.rows_to_ask());
  return document(RG_TRY(reads.ask(rpc::kListRuns, request)), "runs", "runs --limit 10000");
}

Result<Document> list_findings(Reads& reads, const Wanted& wanted) {
  ListFindingsRequest request;
  request.set_state(wanted.text("state"));
  request.set_run_id(wanted.text("run"));
  request.set_node_set(wanted.text("nodes"));
  request.set_tag(wanted.text("tag"));
  request.set_limit(wanted.window.rows_to_ask());
  return document(RG_TRY(reads.ask(rpc::kListFindings, request)), "findings",
                  "findings --limit 10000");
}

Result<Document> list_schedules(Reads& reads, const Wanted&) {
  return document(RG_TRY(reads.ask(rpc::kListSchedules, ListSchedulesRequest())), "schedules",
                  "schedules");
}

Result<Document> list_upgrades(Reads& reads, const Wanted& wanted) {
  ListUpgradesRequest request;
  request.set_limit(wanted.window.rows_to_ask());
  return document(RG_TRY(reads.ask(rpc::kListUpgrades, request)), "upgrades", "upgrades");
}

// Series of a run, or of all; `show` has the values of one.
Result<Document> list_series(Reads& reads, const Wanted& wanted) {
  PointsRequest request;
  request.set_run_id(wanted.text("run"));
  request.set_kernel(wanted.text("kernel"));
  request.set_metric(wanted.text("metric"));
  request.set_node_set(wanted.text("nodes"));
  request.set_limit(wanted.window.rows_to_ask());
  return document(RG_TRY(reads.ask(rpc::kListSeries, request)), "series", "history --limit 10000");
}

// The controller lists a bounded number, so a full list may have more behind it.
Result<Document> list_events(Reads& reads, const Wanted& wanted) {
  EventsRequest request;
  if (const auto since = RG_TRY(since_of(reads, wanted))) request.set_since_unix_seconds(*since);
  request.set_kinds(wanted.text("kind"));
  request.set_node_set(wanted.text("nodes"));
  request.set_run_id(wanted.text("run"));
  request.set_limit(wanted.window.rows_to_ask());
  EventList list = RG_TRY(reads.ask(rpc::kListEvents, request));
  const bool is_full = list.events_size() >= kMostEvents;
  Document made = document(std::move(list), "events", "events --limit 5000");
  made.has_more = is_full;
  return made;
}

// Page by page, since a run may have more tasks than a message has room for.
Result<Document> show_run(Reads& reads, const Wanted& wanted) {
  auto request = request_for<TasksRequest>(wanted.text("id"));
  RunDetail detail;
  detail.set_schema_version(1);
  std::uint32_t skipped = 0;
  while (true) {
    TaskPage page = RG_TRY(reads.ask(rpc::kGetTasks, request));
    *detail.mutable_run() = std::move(*page.mutable_run());
    const auto size = static_cast<std::uint32_t>(page.tasks_size());
    // A page that ends before the window is not kept.
    if (detail.tasks_size() == 0 && skipped + size <= wanted.window.offset)
      skipped += size;
    else
      detail.mutable_tasks()->MergeFrom(page.tasks());
    const auto seen = skipped + static_cast<std::uint32_t>(detail.tasks_size());
    request.set_from(page.next());
    if (page.next() == 0 || seen >= wanted.window.rows_to_ask()) break;
  }
  Document made = document(std::move(detail), "tasks", command_for("runs show", wanted));
  made.skipped = skipped;
  made.has_more = request.from() != 0;
  return made;
}

// The nearest to an overview of a run with thousands of tasks.
Result<Document> show_groups(Reads& reads, const Wanted& wanted) {
  return document(
      RG_TRY(reads.ask(rpc::kGetTaskGroups, request_for<TaskGroupsRequest>(wanted.text("id")))),
      "groups", command_for("runs show", wanted));
}

// Reads the points of a run, which takes seconds for a large one.
Result<Document> show_suspects(Reads& reads, const Wanted& wanted) {
  return document(
      RG_TRY(reads.ask(rpc::kGetSuspects, request_for<PairsRequest>(wanted.text("id")))),
      "suspects", command_for("runs suspects", wanted));
}

Result<Document> show_finding(Reads& reads, const Wanted& wanted) {
  return document(RG_TRY(reads.ask(rpc::kGetFinding, request_for<FindingRef>(wanted.text("id")))),
                  "", command_for("findings show", wanted));
}

// The node's facts too, which lists leave out.
Result<Document> show_node(Reads& reads, const Wanted& wanted) {
  auto request = request_for<ListNodesRequest>(wanted.text("id"));
  request.set_with_facts(true);
  NodeList list = RG_TRY(reads.ask(rpc::kListNodes, request));
  if (list.nodes().empty())
    return fail(Code::kNotFound,
                "node {}: the controller does not know it; list nodes has its names",
                in_quotes(wanted.text("id")));
  return document(std::move(list), "nodes", command_for("nodes show", wanted));
}

// The newest points are the first ones of the window, and the last ones of the document.
Result<Document> show_series(Reads& reads, const Wanted& wanted) {
  HistoryRequest request;
  request.set_series_id(RG_TRY(series_number(wanted.text("id"))));
  if (const auto since = RG_TRY(since_of(reads, wanted))) request.set_since_unix_seconds(*since);
  request.set_limit(wanted.window.rows_to_ask());
  Document made = document(RG_TRY(reads.ask(rpc::kGetHistory, request)), "points",
                           command_for("history --limit 10000", wanted));
  made.is_newest_last = true;
  return made;
}

Result<Document> show_upgrade(Reads& reads, const Wanted& wanted) {
  return document(RG_TRY(reads.ask(rpc::kGetUpgrade, request_for<UpgradeRef>(wanted.text("id")))),
                  "", command_for("upgrades show", wanted));
}

Result<Document> show_schedule(Reads& reads, const Wanted& wanted) {
  return document(
      RG_TRY(reads.ask(rpc::kListSchedules, request_for<ListSchedulesRequest>(wanted.text("id")))),
      "", command_for("schedules show", wanted));
}

// The largest change first, so that a cut leaves it.
Result<Document> compare_runs(Reads& reads, const Wanted& wanted) {
  CompareRequest request;
  request.set_run_a(wanted.text("a"));
  request.set_run_b(wanted.text("b"));
  Comparison comparison = RG_TRY(reads.ask(rpc::kCompareRuns, request));
  std::stable_sort(comparison.mutable_series()->begin(), comparison.mutable_series()->end(),
                   [](const ComparedSeries& one, const ComparedSeries& other) {
                     const auto change = [](const ComparedSeries& each) {
                       return each.has_b_over_a() ? std::abs(each.b_over_a() - 1) : 0;
                     };
                     return change(one) > change(other);
                   });
  return document(std::move(comparison), "series",
                  fmt::format("runs compare {} {}", shell_quoted(wanted.text("a")),
                              shell_quoted(wanted.text("b"))));
}

// The calls of the report by way of the reads that tools may make.
report::Source source_of(Reads& reads, const Wanted& wanted) {
  return report_source(
      [&reads](const auto& rpc, const auto& request) { return reads.ask(rpc, request); },
      wanted.text("nodes"));
}

Document report_document(const report::Gathered& gathered, const std::string& command) {
  return document(report::make_report(gathered.material), "", "report " + command);
}

// The site since a time, as `railgauge report` prints it.
Result<Document> report_since(Reads& reads, const Wanted& wanted) {
  const double now = controllers_now(reads);
  const double from = RG_TRY(since_of(reads, wanted)).value_or(now - kDaySeconds);
  return report_document(RG_TRY(report::gather_since(source_of(reads, wanted), from, now)),
                         "--since " + shell_quoted(wanted.text("since")));
}

// One run.
Result<Document> report_run(Reads& reads, const Wanted& wanted) {
  return report_document(RG_TRY(report::gather_run(source_of(reads, wanted), wanted.text("id"),
                                                   controllers_now(reads))),
                         shell_quoted(wanted.text("id")));
}

// An upgrade: before, after, verdict.
Result<Document> report_upgrade(Reads& reads, const Wanted& wanted) {
  return report_document(RG_TRY(report::gather_upgrade(source_of(reads, wanted), wanted.text("id"),
                                                       controllers_now(reads))),
                         "--upgrade " + shell_quoted(wanted.text("id")));
}

constexpr std::array kListed{
    Thing{"nodes", "nodes, whether they are attached, busy or in maintenance", "",
          "nodes offset limit", list_nodes},
    Thing{"runs", "runs, the newest first", "", "offset limit", list_runs},
    Thing{"findings", "what is wrong; without a state those that are open", "",
          "state tag run nodes offset limit", list_findings},
    Thing{"schedules", "suites that start by themselves, and when next", "", "offset limit",
          list_schedules},
    Thing{"upgrades", "upgrades with their verdicts, the newest first", "", "offset limit",
          list_upgrades},
    Thing{"series", "series of figures, whose numbers show takes", "",
          "run kernel metric nodes offset limit", list_series},
    Thing{"events", "what happened, the newest first", "", "since kind run nodes offset limit",
          list_events}};

constexpr std::array kShown{
    Thing{"run", "one run and its tasks", "id", "offset limit", show_run},
    Thing{"run_groups", "how the tasks of a run ended, in few rows; ask for this first", "id",
          "offset limit", show_groups},
    Thing{"suspects", "slow parts of the fabric by the pairs of a run, with evidence", "id",
          "offset limit", show_suspects},
    Thing{"finding", "one finding: figures, causes, what it was not, what to do", "id", "",
          show_finding},
    Thing{"node", "one node with its NICs, GPUs, stack and facts", "id", "offset limit", show_node},
    Thing{"series", "the history of one series; offset counts from its newest point", "id",
          "since offset limit", show_series},
    Thing{"upgrade", "one upgrade: losses, causes, verdict", "id", "", show_upgrade},
    Thing{"schedule", "one schedule and its due times", "id", "", show_schedule}};

constexpr std::array kCompared{
    Thing{"runs", "two runs, series by series, the largest change first; no verdict", "a b",
          "offset limit", compare_runs},
    Thing{"upgrade", "before and after one upgrade, with controls and the verdict", "id", "",
          show_upgrade}};

constexpr std::array kReported{
    Thing{"since", "what happened since a time, 24h ago if none is given", "", "since nodes",
          report_since},
    Thing{"run", "what one run showed", "id", "nodes", report_run},
    Thing{"upgrade", "what one upgrade changed", "id", "nodes", report_upgrade}};

}  // namespace

std::span<const Thing> listed() { return kListed; }
std::span<const Thing> shown() { return kShown; }
std::span<const Thing> compared() { return kCompared; }
std::span<const Thing> reported() { return kReported; }

}  // namespace railgauge::cli::mcp

#include "controller/control/control.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <set>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/control/run_tasks.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/kernels.h"
#include "controller/nodes/known_nodes.h"
#include "controller/run/yield_window.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/nodes/node_words.h"
#include "controller/store/queries/events.h"
#include "controller/store/queries/queries.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kDefaultRuns = 50;  // listed when the caller sets no limit
constexpr std::uint32_t kMaxRuns = 10'000;
constexpr std::size_t kMostReasonBytes = 500;
constexpr std::string_view kGateTrigger = "upgrade";
constexpr std::array<std::string_view, 4> kTriggers{"cli", "schedule", kGateTrigger, kProveTrigger};

// Run ids sort by time and differ by chance within a second.
std::string new_run_id(double unix_seconds) {
  std::random_device random;
  return fmt::format("{:%Y%m%d-%H%M%S}-{:06x}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)),
                     random() & 0xffffffU);
}

// The reasons of those nodes that production work keeps busy.
std::map<std::string, std::string> busy_among(const NodeStates& live,
                                              const std::vector<std::string>& names) {
  std::map<std::string, std::string> busy;
  for (const std::string& name : names)
    if (const auto node = live.find(name); node != live.end())
      if (std::string words = fleet::busy_text(node->second); !words.empty())
        busy[name] = std::move(words);
  return busy;
}

// A name that the caller got wrong is wrong use, not a missing part of the system.
Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
  return error;
}

}  // namespace

Result<api::NodeList> Control::list_nodes(const api::ListNodesRequest& request) {
  return lists_.list(request, live_nodes(), pauses_.held());
}

Result<api::NodeHeads> Control::list_node_heads(const api::NodeHeadsRequest& request) {
  return lists_.heads(request, live_nodes(), pauses_.held());
}

NodeLists::Live Control::live_nodes() const {
  return {.all = [this] { return view_.live(); },
          .of = [this](const std::vector<std::string>& names) { return view_.live(names); },
          .heads = [this] { return view_.heads(); }};
}

Result<api::NodeList> Control::pause_nodes(const api::PauseNodesRequest& request,
                                           const std::string& requested_by) {
  if (request.node_set().empty())
    return fail(Code::kInvalidArgument, "nodes pause: which nodes? name them, or -l KEY=VALUE");
  const std::vector<std::string> names = RG_TRY(view_.select(request.node_set()));
  RG_TRY_OK(pauses_.pause(names, request, requested_by, fleet::unix_seconds()));
  api::ListNodesRequest paused;
  paused.set_node_set(fmt::format("{}", fmt::join(names, ",")));
  return list_nodes(paused);
}

Result<api::NodeList> Control::resume_nodes(const api::ResumeNodesRequest& request,
                                            const std::string& requested_by) {
  if (request.node_set().empty())
    return fail(Code::kInvalidArgument, "nodes resume: which nodes? name them, or -l KEY=VALUE");
  const std::vector<std::string> names = RG_TRY(view_.select(request.node_set()));
  const std::vector<std::string> resumed =
      RG_TRY(pauses_.resume(names, requested_by, fleet::unix_seconds()));
  if (resumed.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("nodes resume: {}: none of them is paused", fold_names(names)));
  api::ListNodesRequest request_of_list;
  request_of_list.set_node_set(fmt::format("{}", fmt::join(resumed, ",")));
  return list_nodes(request_of_list);
}

// In three steps, since the loop must not wait for the database: the names are reserved meanwhile.
Result<api::NodeList> Control::rename_node(const std::string& name, const std::string& new_name,
                                           const std::string& requested_by) {
  const store::NodeBond node = RG_TRY(loop_.call([&]() -> Result<store::NodeBond> {
    if (const std::string run_id = director_.run_with(name); !run_id.empty())
      return fail(Code::kFailedPrecondition,
                  fmt::format("node {}: rename: run {} uses it; wait for its end, or railgauge "
                              "runs cancel {}",
                              name, run_id, run_id));
    return fleet_.begin_rename(name, new_name);
  }));
  const Status stored = store_.rename_node(node, new_name);
  loop_.call([&] {
    fleet_.end_rename(node, new_name, stored.has_value(), !director_.run_with(name).empty());
  });
  RG_TRY_OK(stored);
  const std::string text =
      fmt::format("node {} is {} from now on, by {}", name, new_name, printable(requested_by));
  spdlog::info("{}", text);
  if (const Status event_stored =
          store_.add_event({.kind = "node_renamed", .node_id = node.node_id, .text = text});
      !event_stored)
    spdlog::warn("node {}: event not stored: {}", new_name, event_stored.error().message);
  if (const Status loaded = pauses_.load(); !loaded)
    spdlog::warn("the pauses of nodes are not read anew: {}", loaded.error().message);
  api::ListNodesRequest request;
  request.set_node_set(new_name);
  return list_nodes(request);
}

Result<KernelList> Control::list_kernels(const api::ListKernelsRequest& request) {
  KernelList list;
  list.set_schema_version(kSchemaVersion);
  std::vector<std::string> names;
  const FleetView::Kernels kernels = view_.kernels();
  for (const KernelInfo& kernel : *kernels) {
    names.push_back(kernel.name());
    if (request.name().empty() || request.name() == kernel.name()) *list.add_kernels() = kernel;
  }
  if (names.empty())
    return fail(Code::kUnavailable,
                "no node is attached, and nodes report the kernels; start an agent");
  if (list.kernels().empty())
    return fail(Code::kInvalidArgument,
                fmt::format("no attached node has a kernel {}{}", in_quotes(request.name()),
                            did_you_mean(request.name(), names)));
  return list;
}

// Each suite is checked against all kernels, which takes milliseconds: pages ask often, and texts
// and kernels change seldom.
Result<api::SuiteList> Control::list_suites() {
  const FleetView::Kernels kernels = view_.kernels();
  std::string texts;
  for (const std::string& name : suites_.names()) {
    api::SuiteSource source;
    source.set_name(name);
    const auto text = suites_.text_of(source);
    texts += fmt::format("\n{}\n{}", name, text ? text->text : text.error().message);
  }
  const std::lock_guard lock(suites_mutex_);
  if (kernels == suites_kernels_ && texts == suites_texts_) return checked_suites_;
  checked_suites_ = check_suites(*kernels);
  suites_kernels_ = kernels;
  suites_texts_ = std::move(texts);
  return checked_suites_;
}

api::SuiteList Control::check_suites(const std::vector<KernelInfo>& kernels) const {
  api::SuiteList list;
  list.set_schema_version(kSchemaVersion);
  for (const std::string& name : suites_.names()) {
    api::SuiteSource source;
    source.set_name(name);
    Result<api::SuiteCheck> check = suites_.check(source, kernels);
    api::SuiteInfo& info = *list.add_suites();
    if (check) info = std::move(*check->mutable_suite());
    if (!check) info.set_error(check.error().message);
    info.set_name(name);  // the name to run it by
    info.set_path(suites_.path_of(name));
  }
  return list;
}

Result<api::SuiteCheck> Control::check_suite(const api::SuiteSource& source) {
  return suites_.check(source, *view_.kernels());
}

Result<std::string> Control::suite_text(const std::string& name) const {
  api::SuiteSource source;
  source.set_name(name);
  return RG_TRY(suites_.text_of(source)).text;
}

Result<api::RunPlan> Control::plan_run(const api::RunRequest& request) {
  if (may_begin_) RG_TRY_OK(may_begin_());
  const RunPreparer::Prepared prepared =
      RG_TRY(preparer_.prepare(request, {.night = RunPreparer::today()}));
  const auto memory = RG_TRY(preparer_.claim_answer(prepared.outline));
  api::RunPlan plan = to_api(prepared.outline);
  for (LeftOutLine& line : RunPreparer::lines_of(prepared.left_out))
    if (line.kind == store::kPausedNodesKind) plan.add_notes(std::move(line.text));
  return plan;
}

// Refuses a run on busy nodes unless it is forced. A forced run needs a reason.
Status Control::admit_busy(const api::RunRequest& request, const std::vector<std::string>& nodes) {
  const std::string& reason = request.force_reason();
  if (request.force() && reason.find_first_not_of(" \t\n") == std::string::npos)
    return fail(Code::kInvalidArgument, "--force needs --reason TEXT, which is kept with the run");
  if (reason.size() > kMostReasonBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("--reason: {} bytes, at most {}", reason.size(), kMostReasonBytes));
  if (request.force()) return {};
  const std::map<std::string, std::string> busy = busy_among(view_.live(), nodes);
  if (busy.empty()) return {};
  return fail(Code::kFailedPrecondition, run::busy_refusal(busy));
}

// Stores who forced the run and why. A full store does not stop the run: each point carries the
// reason as the fact "forced" as well.
void Control::record_force(const api::RunRequest& request, const store::RunRow& row) {
  std::string on;
  const std::map<std::string, std::string> busy = busy_among(view_.live(), row.nodes);
  for (const std::string& name : row.nodes)  // in the order of the plan
    if (const auto node = busy.find(name); node != busy.end())
      on += fmt::format("{}{} ({})", on.empty() ? "" : ", ", name, node->second);
  const std::string text = fmt::format("forced{}{}: {}", on.empty() ? "" : " on busy nodes ", on,
                                       valid_utf8(request.force_reason()));
  spdlog::info("run {}: {} by {}", row.run_id, text, row.requested_by);
  const Status event_stored =
      store_.add_event({.kind = "run_forced",
                        .run_id = row.run_id,
                        .text = fmt::format("{}: {}", row.requested_by, text)});
  const Status note_stored = store_.write(store::write_operator_note, {.at = row.created_at,
                                                                       .who = row.requested_by,
                                                                       .subject_kind = "run",
                                                                       .subject = row.run_id,
                                                                       .text = text});
  if (!event_stored || !note_stored)
    spdlog::warn("run {}: the record that it was forced is not stored: {}", row.run_id,
                 event_stored ? note_stored.error().message : event_stored.error().message);
}

// Stores an event for the nodes that were asked for and are not in the run. An event that is not
// stored does not stop the run.
void Control::record_left_out(const std::vector<LeftOutLine>& left_out, const store::RunRow& row) {
  for (const LeftOutLine& line : left_out) {
    spdlog::info("run {}: {}", row.run_id, line.text);
    static_cast<void>(store_.add_event({.at = row.created_at,
                                        .kind = std::string(line.kind),
                                        .run_id = row.run_id,
                                        .text = line.text}));
  }
}

// The priority of a run follows from its trigger, so a client cannot have the gate's.
Result<api::RunSummary> Control::start_run_of_client(const api::RunRequest& request,
                                                     const std::string& requested_by) {
  if (request.trigger() == kGateTrigger)
    return fail(
        Code::kInvalidArgument,
        "trigger \"upgrade\": only the gate's own runs have it; see railgauge upgrades gate");
  return start_run(request, requested_by);
}

// Plans first, then stores the run with its claim in one transaction, then submits it: a run that
// is submitted is always stored.
Result<api::RunSummary> Control::start_run(const api::RunRequest& request,
                                           const std::string& requested_by,
                                           std::optional<store::ScheduleClaim> claim) {
  const std::string trigger = request.trigger().empty() ? "cli" : request.trigger();
  if (std::ranges::find(kTriggers, trigger) == kTriggers.end())
    return fail(Code::kInvalidArgument,
                fmt::format("trigger {}: allowed are cli, prove and schedule", in_quotes(trigger)));
  if (may_begin_) RG_TRY_OK(may_begin_());
  RG_TRY_OK(loop_.call([this] { return director_.admits(); }));
  RunPreparer::PlannedRun planned =
      RG_TRY(preparer_.plan_run(request, claim ? claim->number : RunPreparer::today()));
  const RunPreparer::Prepared& prepared = planned.prepared;
  const plan::Plan& plan = prepared.outline.head();
  run::RoundPolicy policy = plan.policy;
  RG_TRY_OK(
      admit_busy(request, prepared.made_for.is_resumed ? std::vector<std::string>{} : plan.nodes));
  if (request.exclusive()) policy.kindness.exclusive = true;
  std::map<std::string, std::string> node_ids;
  for (const auto& [name, node] : prepared.made_for.is_resumed ? RG_TRY(view_.all()) : view_.live())
    node_ids[name] = node.hello->node_id();
  store::RunRow row;
  row.created_at = fleet::unix_seconds();
  row.run_id = new_run_id(row.created_at);
  row.suite = plan.suite;
  row.trigger = trigger;
  row.requested_by = requested_by;
  row.nodes = plan.nodes;
  row.parent_run_id = planned.resumed_run_id;
  if (!planned.resumed_run_id.empty()) row.reason = run::resumed_text(planned.resumed_run_id);
  if (claim) row.reason += claim->note;
  // Whoever repairs a node has paused it.
  std::set<std::string> proved;
  if (const auto& prove = prepared.made_for.prove; prove)
    proved.insert(prove->nodes.begin(), prove->nodes.end());
  // Made before it is stored: once the store shows the run, it can be cancelled.
  const std::shared_ptr<run::RunDriver> run =
      director_.make({.row = row,
                      .outline = prepared.outline,
                      .policy = std::move(policy),
                      .node_ids = std::move(node_ids),
                      .uplinks = prepared.uplinks,
                      .proved = proved,
                      .force_reason = request.force() ? valid_utf8(request.force_reason()) : ""});
  row.suite_text = prepared.suite_text;  // for the store alone
  RG_TRY_OK(store_.create_planned_run(row, run::task_rest_of(plan), std::move(claim)));
  if (request.force()) record_force(request, row);
  const std::vector<LeftOutLine> left_out = RunPreparer::lines_of(prepared.left_out);
  record_left_out(left_out, row);
  return loop_.call([&] {
    director_.submit(run);
    api::RunSummary summary = *director_.summary(row.run_id);
    for (const LeftOutLine& line : left_out) summary.add_left_out(line.text);
    return Result<api::RunSummary>(std::move(summary));
  });
}

Result<api::RunSummary> Control::run_summary(const std::string& run_id) {
  if (auto live = loop_.call([&] { return director_.summary(run_id); })) return std::move(*live);
  Result<store::RunSummaryRow> row = store_.run_summary(run_id);
  if (!row) return tl::unexpected(as_wrong_use(row.error()));
  return to_api(*row);
}

Result<api::RunSummary> Control::cancel_run(const std::string& run_id,
                                            const std::string& requested_by) {
  auto cancelled = loop_.call([&] {
    return director_.cancel(run_id, fmt::format("cancelled by {}", requested_by), requested_by);
  });
  return cancelled ? cancelled : run_summary(run_id);  // an ended run stays as it ended
}

Result<api::RunList> Control::list_runs(const api::ListRunsRequest& request) {
  const std::uint32_t limit =
      request.limit() == 0 ? kDefaultRuns : std::min(request.limit(), kMaxRuns);
  const std::vector<store::RunSummaryRow> rows = RG_TRY(store_.list_runs(limit));
  return loop_.call([&] {
    api::RunList list;
    list.set_schema_version(kSchemaVersion);
    for (const store::RunSummaryRow& row : rows) {
      auto live = director_.summary(row.run.run_id);
      *list.add_runs() = live ? std::move(*live) : to_api(row);
    }
    return Result<api::RunList>(std::move(list));
  });
}

// A run with more tasks than a list has is shown without them: they would take gigabytes.
Result<api::RunDetail> Control::get_run(const std::string& run_id) {
  Result<store::RunSummaryRow> summary = store_.run_summary(run_id);
  if (!summary) return tl::unexpected(as_wrong_use(summary.error()));
  Result<store::RunDetailRow> row = store::RunDetailRow{.summary = std::move(*summary)};
  if (row->summary.tasks_total <= plan::kMostListedTasks) row = store_.run_detail(run_id);
  if (!row) return tl::unexpected(as_wrong_use(row.error()));
  api::RunDetail detail;
  detail.set_schema_version(kSchemaVersion);
  auto live = loop_.call([&] { return director_.summary(run_id); });
  *detail.mutable_run() = live ? std::move(*live) : to_api(row->summary);
  for (std::string& text : RG_TRY(store_.read(store::read_left_out, run_id)))
    detail.mutable_run()->add_left_out(std::move(text));
  for (const store::TaskDetailRow& task : row->tasks) *detail.add_tasks() = to_api(task);
  return detail;
}

Result<api::ResultList> Control::query_results(const api::ResultsRequest& request) {
  store::ResultsFilter filter;
  filter.run_id = request.run_id();
  filter.kernel = request.kernel();
  filter.metric = request.metric();
  if (request.has_message_bytes()) filter.message_bytes = request.message_bytes();
  filter.limit = request.limit();
  if (!request.node_set().empty()) filter.nodes = RG_TRY(view_.select(request.node_set()));
  Result<std::vector<store::ResultRow>> rows = store_.results(filter);
  if (!rows) return tl::unexpected(as_wrong_use(rows.error()));
  api::ResultList list;
  list.set_schema_version(kSchemaVersion);
  for (store::ResultRow& row : *rows) *list.add_points() = to_api(std::move(row));
  return list;
}

Result<api::VersionInfo> Control::get_version() {
  const store::StoreStats stats = RG_TRY(store_.stats());
  api::VersionInfo version;
  version.set_schema_version(kSchemaVersion);
  version.set_version(RAILGAUGE_VERSION);
  *version.mutable_contract() = api::to_message(api::kContract);
  version.set_database_version(stats.database_version);
  return version;
}

Result<api::Installation> Control::get_installation() {
  api::Installation answer = describe_ ? describe_() : api::Installation();
  answer.set_schema_version(kSchemaVersion);
  answer.set_version(RAILGAUGE_VERSION);
  answer.set_now_at(rfc3339(fleet::unix_seconds()));
  for (const auto& [name, node] : view_.live()) {
    api::InstalledNode& told = *answer.add_nodes();
    told.set_node(name);
    told.set_state(to_api(node).state());
    told.set_version(node.hello->version());
    told.set_clock_skew_seconds(node.clock_skew_seconds);
    if (node.certificate_until_unix > 0)
      told.set_certificate_ends_at(rfc3339(node.certificate_until_unix));
  }
  return answer;
}

Result<api::PreflightReport> Control::run_preflight(const api::PreflightRequest& request) {
  const NodeStates live = view_.live();
  PreflightQuestion question;
  question.require.assign(request.require().begin(), request.require().end());
  question.probe = request.probe();
  std::vector<std::string> names;
  if (request.node_set().empty()) {
    for (const auto& [name, node] : live)
      if (node.presence == fleet::NodePresence::kAttached) names.push_back(name);
    if (names.empty())
      return fail(Code::kUnavailable,
                  "no node is attached; start an agent on the nodes to check, or check one by "
                  "railgauge preflight --local on it");
  } else {
    names = RG_TRY(view_.select(request.node_set()));
  }
  for (const std::string& name : names) {
    const auto node = live.find(name);
    question.nodes[name] = node == live.end() ? "" : node->second.hello->node_id();
  }
  return preflights_.ask(question);
}

Status Control::watch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher) {
  return loop_.call([&] { return director_.watch(run_id, std::move(watcher)); });
}

void Control::unwatch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher) {
  loop_.post([this, run_id, kept = std::move(watcher)] { director_.unwatch(run_id, kept.get()); });
}

}  // namespace railgauge

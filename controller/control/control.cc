#include "controller/control/control.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/contract.h"
#include "controller/control/run_tasks.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/kernels.h"
#include "controller/plan/topology/node_set.h"
#include "controller/run/give_way.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kDefaultRuns = 50;
constexpr std::uint32_t kMaxRuns = 10'000;
constexpr std::array<std::string_view, 3> kTriggers{"cli", "schedule", "upgrade"};

// Sortable by time, distinct by chance within a second.
std::string new_run_id(double unix_seconds) {
  std::random_device random;
  return fmt::format("{:%Y%m%d-%H%M%S}-{:06x}", fmt::gmtime(static_cast<std::time_t>(unix_seconds)),
                     random() & 0xffffffU);
}

std::vector<KernelInfo> kernels_of(const std::map<std::string, fleet::NodeState>& nodes) {
  std::vector<const api::Hello*> hellos;
  for (const auto& [name, node] : nodes)
    if (node.presence == fleet::NodePresence::kAttached) hellos.push_back(&node.hello);
  return fleet::newest_kernels(hellos);
}

// A name that the caller got wrong is wrong use, not a missing part of the system.
Error as_wrong_use(Error error) {
  if (error.code == Code::kNotFound) error.code = Code::kInvalidArgument;
  return error;
}

}  // namespace

Control::Nodes Control::nodes() {
  return loop_.call([this] { return fleet_.nodes(); });
}

Result<std::vector<std::string>> Control::known_names(const Nodes& live) {
  std::vector<std::string> names;
  for (const auto& [name, node] : live) names.push_back(name);
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes()))
    if (!live.contains(row.name)) names.push_back(row.name);
  std::ranges::sort(names);
  return names;
}

Result<api::NodeList> Control::list_nodes(const api::ListNodesRequest& request) {
  const Nodes live = nodes();
  std::map<std::string, api::NodeInfo> infos;
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes())) infos[row.name] = to_api(row);
  for (const auto& [name, node] : live) {
    api::NodeInfo now = to_api(node);
    api::NodeInfo& known = infos[name];
    now.mutable_facts()->swap(*known.mutable_facts());
    now.mutable_stack_versions()->swap(*known.mutable_stack_versions());
    now.mutable_stack_settings()->swap(*known.mutable_stack_settings());
    now.set_stack_hash(known.stack_hash());
    known = std::move(now);
  }
  std::vector<std::string> names;
  for (const auto& [name, info] : infos) names.push_back(name);
  if (!request.node_set().empty()) names = RG_TRY(plan::select_nodes(request.node_set(), names));
  api::NodeList list;
  list.set_schema_version(kSchemaVersion);
  for (const std::string& name : names) {
    api::NodeInfo& info = *list.add_nodes() = std::move(infos[name]);
    if (request.with_facts()) continue;
    info.clear_facts();
    info.clear_stack_versions();
    info.clear_stack_settings();
  }
  return list;
}

Result<KernelList> Control::list_kernels(const api::ListKernelsRequest& request) {
  KernelList list;
  list.set_schema_version(kSchemaVersion);
  std::vector<std::string> names;
  for (const KernelInfo& kernel : kernels_of(nodes())) {
    names.push_back(kernel.name());
    if (request.name().empty() || request.name() == kernel.name()) *list.add_kernels() = kernel;
  }
  if (names.empty())
    return fail(Code::kUnavailable,
                "no node is attached, and kernels are told by the nodes; start an agent");
  if (list.kernels().empty())
    return fail(Code::kInvalidArgument,
                fmt::format("no attached node has a kernel {}{}", in_quotes(request.name()),
                            did_you_mean(request.name(), names)));
  return list;
}

Result<api::SuiteList> Control::list_suites() {
  const std::vector<KernelInfo> kernels = kernels_of(nodes());
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
  return suites_.check(source, kernels_of(nodes()));
}

// The attached nodes that a node set selects, or without one all that are idle; `order` is the
// plan's. Of a set that may be incomplete (skip_absent) busy ones are left out like absent ones:
// one job must not cost all other nodes their night.
Result<Control::Nodes> Control::nodes_to_use(const api::RunRequest& request,
                                             std::vector<std::string>& order, LeftOut& left_out) {
  const std::string& node_set = request.node_set();
  Nodes live = nodes();
  std::map<std::string, std::string>& busy = left_out.busy;
  if (node_set.empty())
    std::erase_if(live, [&](const auto& node) {
      if (node.second.presence != fleet::NodePresence::kAttached) return true;
      if (request.force() || fleet::busy_text(node.second).empty()) return false;
      busy[node.first] = fleet::busy_text(node.second);
      return true;
    });
  if (live.empty() && !busy.empty())
    return fail(Code::kUnavailable,
                fmt::format("every attached node is busy: {}", run::busy_refusal(busy)));
  std::vector<std::string> names = RG_TRY(known_names(node_set.empty() ? Nodes{} : live));
  if (node_set.empty()) {
    names.clear();
    for (const auto& [name, node] : live) names.push_back(name);
    if (names.empty())
      return fail(Code::kUnavailable,
                  "no node is attached; start an agent on the nodes to measure");
  } else {
    names = RG_TRY(plan::select_nodes(node_set, names));
    left_out.asked = names;
  }
  Nodes chosen;
  for (const std::string& name : names) {
    const auto node = live.find(name);
    if (node != live.end() && node->second.presence == fleet::NodePresence::kAttached) {
      const std::string why = fleet::busy_text(node->second);
      if (request.skip_absent() && !request.force() && !why.empty()) {
        busy[name] = why;
        continue;
      }
      chosen.insert(*node);
      order.push_back(name);
      continue;
    }
    if (!request.skip_absent())
      return fail(Code::kUnavailable,
                  fmt::format("node {} is not attached; start its agent, or leave it out with !{}",
                              name, name));
    left_out.absent.push_back(name);
  }
  if (order.empty() && !busy.empty())
    return fail(Code::kUnavailable,
                fmt::format("every attached node is busy: {}", run::busy_refusal(busy)));
  if (order.empty()) return fail(Code::kUnavailable, "none of the nodes is attached");
  return chosen;
}

Result<Control::Prepared> Control::prepare(const api::RunRequest& request, PlanFor made_for) {
  SuiteFolder::Text text = RG_TRY(suites_.text_of(request.suite()));
  std::vector<std::string> order;
  LeftOut left_out;
  const Nodes chosen = RG_TRY(made_for.is_rest ? nodes_of_rest(request, made_for, order, left_out)
                                               : nodes_to_use(request, order, left_out));
  std::vector<const api::Hello*> hellos;
  std::vector<plan::PlanNode> plan_nodes;
  for (const std::string& name : order) {
    plan_nodes.push_back(plan_node_of(chosen.at(name)));
    const auto unusable = made_for.unusable.find(name);
    if (unusable == made_for.unusable.end())
      hellos.push_back(&chosen.at(name).hello);
    else
      plan_nodes.back().absent = unusable->second;
  }
  const std::vector<KernelInfo> kernels = RG_TRY(fleet::common_kernels(hellos));
  const plan::SuiteReading reading = plan::read_suite(text.text, text.file_name, kernels);
  if (!reading.suite) return tl::unexpected(plan::error_of(reading.problems));
  Nodes placed = chosen;
  plan::SliceOrigin night;
  if (plan::has_slices(*reading.suite)) {
    const Nodes all = RG_TRY(all_nodes());
    night = night_of(*reading.suite, made_for, left_out, all);
    for (const std::string& name : night.nodes)
      if (const auto node = all.find(name); node != all.end()) placed.insert(*node);
    text.text = plan::with_night(text.text, night);
    made_for.slice_of = night.nodes;
  }
  plan::PlanOptions options = RG_TRY(plan_options(*reading.suite, placed));
  options.slice_index = night.number;
  for (const std::string& name : night.nodes)
    if (const auto node = placed.find(name); node != placed.end())
      options.slice_nodes.push_back(plan_node_of(node->second));
    else  // gone for good: it keeps its place, as one of the others
      options.slice_nodes.push_back({.name = name, .hardware = plan_nodes.front().hardware});
  return Prepared{
      RG_TRY(plan::PlanOutline::make(*reading.suite, plan_nodes, kernels, site_, options)),
      std::move(text.text), std::move(left_out), run::uplinks_of(options.topology, chosen),
      std::move(made_for)};
}

// What a plan wants from files: read anew for each plan, since a fabric is recabled while the
// controller runs.
Result<plan::PlanOptions> Control::plan_options(const plan::Suite& suite,
                                                const Nodes& chosen) const {
  plan::PlanOptions options;
  for (const plan::Stage& stage : suite.stages)
    if (const std::string& file = stage.placement.pairs_file; !file.empty())
      options.pair_lists[file] = RG_TRY(suites_.text_beside(file));
  if (site_.topology.source.empty()) return options;
  std::vector<plan::TopologyNode> nodes;
  for (const auto& [name, node] : chosen) nodes.push_back(topology_node_of(node));
  std::string text;
  if (!site_.topology.file.empty())
    text = RG_TRY(read_whole_file(site_.topology.file, plan::kMaxTopologyBytes));
  options.topology = RG_TRY(plan::read_topology(site_.topology, text, nodes));
  return options;
}

Result<std::string> Control::suite_text(const std::string& name) const {
  api::SuiteSource source;
  source.set_name(name);
  return RG_TRY(suites_.text_of(source)).text;
}

Result<api::RunPlan> Control::plan_run(const api::RunRequest& request) {
  return to_api(RG_TRY(prepare(request, {.night = today()})).outline);
}

Result<api::RunSummary> Control::start_run(const api::RunRequest& request,
                                           const std::string& requested_by,
                                           std::optional<store::ScheduleClaim> claim) {
  const std::string trigger = request.trigger().empty() ? "cli" : request.trigger();
  if (std::ranges::find(kTriggers, trigger) == kTriggers.end())
    return fail(
        Code::kInvalidArgument,
        fmt::format("trigger {}: allowed are cli, schedule and upgrade", in_quotes(trigger)));
  RG_TRY_OK(loop_.call([this] { return director_.admits(); }));
  ToRun to_run = RG_TRY(this->to_run(request, claim ? claim->number : today()));
  const Prepared& prepared = to_run.prepared;
  plan::Plan& plan = to_run.plan;
  RG_TRY_OK(
      admit_busy(request, prepared.made_for.is_rest ? std::vector<std::string>{} : plan.nodes));
  if (request.exclusive()) plan.policy.kindness.exclusive = true;
  std::map<std::string, std::string> node_ids;
  for (const auto& [name, node] : prepared.made_for.is_rest ? RG_TRY(all_nodes()) : nodes())
    node_ids[name] = node.hello.node_id();
  store::RunRow row;
  row.created_at = fleet::unix_seconds();
  row.run_id = new_run_id(row.created_at);
  row.suite = plan.suite;
  row.suite_text = prepared.suite_text;
  row.trigger = trigger;
  row.requested_by = requested_by;
  row.nodes = plan.nodes;
  row.parent_run_id = to_run.rest_of;
  if (!to_run.rest_of.empty()) row.reason = run::rest_text(to_run.rest_of);
  if (claim) row.reason += claim->note;
  RG_TRY_OK(store_.create_run(row, task_rows(plan, node_ids), std::move(claim)));
  if (request.force()) record_force(request, row);
  tell_left_out(prepared.left_out, row);
  run::RunOrder order{row.run_id,
                      trigger,
                      requested_by,
                      row.created_at,
                      std::move(plan),
                      prepared.uplinks,
                      request.force() ? valid_utf8(request.force_reason()) : "",
                      row.reason};
  return loop_.call([this, &order] {
    const std::string id = order.run_id;
    director_.submit(std::move(order));
    return Result<api::RunSummary>(*director_.summary(id));
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
  auto cancelled = loop_.call(
      [&] { return director_.cancel(run_id, fmt::format("cancelled by {}", requested_by)); });
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

Result<api::RunDetail> Control::get_run(const std::string& run_id) {
  Result<store::RunDetailRow> row = store_.run_detail(run_id);
  if (!row) return tl::unexpected(as_wrong_use(row.error()));
  api::RunDetail detail;
  detail.set_schema_version(kSchemaVersion);
  auto live = loop_.call([&] { return director_.summary(run_id); });
  *detail.mutable_run() = live ? std::move(*live) : to_api(row->summary);
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
  if (!request.node_set().empty()) {
    const std::vector<std::string> known = RG_TRY(known_names(nodes()));
    filter.nodes = RG_TRY(plan::select_nodes(request.node_set(), known));
  }
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

Status Control::watch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher) {
  return loop_.call([&] { return director_.watch(run_id, std::move(watcher)); });
}

void Control::unwatch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher) {
  loop_.post([this, run_id, kept = std::move(watcher)] { director_.unwatch(run_id, kept.get()); });
}

}  // namespace railgauge

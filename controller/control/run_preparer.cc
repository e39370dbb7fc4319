#include "controller/control/run_preparer.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/control/resumed_run.h"
#include "controller/control/run_tasks.h"
#include "controller/fleet/convert.h"
#include "controller/fleet/kernels.h"
#include "controller/nodes/known_nodes.h"
#include "controller/plan/policy/partners.h"
#include "controller/plan/policy/preflight_gate.h"
#include "controller/plan/topology/node_set.h"
#include "controller/run/yield_window.h"
#include "controller/store/queries/events.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/remarks.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/lines.h"

namespace railgauge {
namespace {

constexpr double kSecondsPerDay = 86'400;
// A node that is away for longer keeps no place in slices over all nodes.
constexpr double kRememberedSeconds = 30 * kSecondsPerDay;

// "node: reason" for each refused node.
std::vector<std::string> in_words(const std::vector<plan::RefusedNode>& refused) {
  std::vector<std::string> words;
  for (const plan::RefusedNode& node : refused)
    words.push_back(fmt::format("{}: {}", node.node, node.reason));
  return words;
}

// Asks preflight of `nodes` (name to node id) for the checks that the gate requires, and admits the
// nodes that pass. Blocks until the nodes answered or their time is over.
plan::Admission admit_nodes(PreflightService& desk, const plan::PreflightGate& gate,
                            const std::map<std::string, std::string>& nodes) {
  const bool probe =
      std::ranges::find(gate.require, "gpudirect_registration") != gate.require.end();
  const api::PreflightReport report =
      desk.ask({.nodes = nodes, .require = gate.require, .probe = probe});
  std::vector<plan::NodePreflight> answers;
  for (const api::PreflightNode& node : report.nodes()) {
    plan::NodePreflight& answer = answers.emplace_back();
    answer.node = node.node();
    answer.error = node.error();
    for (const api::PreflightCheck& check : report.checks())
      if (check.node() == node.node())
        answer.checks.push_back({.id = check.id(),
                                 .subject = check.subject(),
                                 .state = check.state(),
                                 .observed = check.observed()});
  }
  return plan::admit(gate, answers);
}

std::uint64_t day_of(double unix_seconds) {
  return static_cast<std::uint64_t>(unix_seconds / kSecondsPerDay);
}

// The slice of the suite's text. Without one: the slice over the nodes asked for, or over every
// node that is attached or was seen lately.
plan::SliceOrigin night_of(const plan::Suite& suite, const RunPreparer::PlanInput& made_for,
                           const RunPreparer::LeftOut& left_out, const NodeStates& all) {
  if (suite.night) return *suite.night;
  plan::SliceOrigin night{.number = made_for.night, .nodes = made_for.slice_of};
  if (night.nodes.empty()) night.nodes = left_out.asked;
  if (!night.nodes.empty()) return night;
  const double since = fleet::unix_seconds() - kRememberedSeconds;
  for (const auto& [name, node] : all)
    if (node.presence == fleet::NodePresence::kAttached || node.last_seen_at_unix >= since)
      night.nodes.push_back(name);
  return night;
}

std::set<std::string> kernels_of(const plan::Suite& suite) {
  std::set<std::string> names;
  for (const plan::Stage& stage : suite.stages) names.insert(stage.kernel);
  return names;
}

// The names in open findings: words that may be nodes, "leaf L1", and the ids of their nodes.
Result<std::set<std::string>> names_in_open_findings(const store::Store& store) {
  constexpr std::uint32_t kFindingsRead = 10'000;
  std::set<std::string> names;
  for (const store::FindingRow& finding :
       RG_TRY(store.read(store::read_findings, {}, kFindingsRead))) {
    if (!api::is_open(finding.state)) continue;
    if (!finding.node_id.empty()) names.insert(finding.node_id);
    std::string_view before;
    for (std::string_view word : words_of(finding.suspect)) {
      if (word.ends_with(',')) word.remove_suffix(1);
      names.insert(before == "leaf" ? fmt::format("leaf {}", word)
                                    : std::string(word.substr(0, word.find('/'))));
      before = word;
    }
  }
  return names;
}

std::vector<std::string> names_of(const NodeStates& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const auto& [name, state] : nodes) names.push_back(name);
  return names;
}

}  // namespace

NodeStates FleetView::live() const {
  return loop_.call([this] { return fleet_.nodes(); });
}

NodeStates FleetView::live(const std::vector<std::string>& names) const {
  return loop_.call([&] {
    NodeStates some;
    for (const std::string& name : names)
      if (const auto node = fleet_.nodes().find(name); node != fleet_.nodes().end())
        some.insert(*node);
    return some;
  });
}

std::vector<LiveHead> FleetView::heads() const {
  return loop_.call([this] {
    std::vector<LiveHead> heads;
    heads.reserve(fleet_.nodes().size());
    for (const auto& [name, node] : fleet_.nodes())
      heads.push_back({.name = name,
                       .hello = node.hello,
                       .is_attached = node.presence == fleet::NodePresence::kAttached,
                       .is_busy = node.busy && node.busy->reasons_size() > 0});
    return heads;
  });
}

// Only lists are counted on the loop: it waits for it, and pages ask often.
FleetView::Kernels FleetView::kernels() const {
  std::vector<Declared> declared = loop_.call([this] {
    std::vector<Declared> all;
    for (const auto& [name, node] : fleet_.nodes()) {
      if (node.presence != fleet::NodePresence::kAttached) continue;
      const auto known = std::ranges::find(all, node.kernels, &Declared::list);
      if (known == all.end())
        all.push_back({.list = node.kernels, .nodes = 1});
      else
        ++known->nodes;
    }
    return all;
  });
  const std::lock_guard lock(common_->mutex);
  if (common_->kernels && declared == common_->declared) return common_->kernels;
  std::vector<fleet::NodeKernels> nodes;  // their names decide nothing about the kernels
  for (const Declared& one : declared)
    nodes.insert(nodes.end(), one.nodes, fleet::NodeKernels{.kernels = one.list});
  common_->kernels =
      std::make_shared<const std::vector<KernelInfo>>(fleet::common_kernels(nodes).kernels);
  common_->declared = std::move(declared);
  return common_->kernels;
}

Result<NodeStates> FleetView::all() const {
  NodeStates all = live();
  for (const store::NodeRow& row : RG_TRY(store_.list_nodes()))
    if (!all.contains(row.name)) all.emplace(row.name, state_of(row));
  return all;
}

Result<std::vector<std::string>> FleetView::select(const std::string& node_set) const {
  std::set<std::string> names;
  for (store::NodeHeadRow& head : RG_TRY(store_.read(store::read_node_heads)))
    names.insert(std::move(head.name));
  for (std::string& name : names_of(live())) names.insert(std::move(name));
  return choose_nodes(store_, node_set, std::vector<std::string>(names.begin(), names.end()));
}

std::map<std::string, std::string> FleetView::paused() const {
  return loop_.call([this] { return fleet_.paused(); });
}

std::vector<LeftOutLine> RunPreparer::lines_of(const LeftOut& left_out) {
  std::vector<LeftOutLine> lines;
  const auto by_cause = [&](std::string_view kind, const char* head,
                            const std::map<std::string, std::string>& causes) {
    if (causes.empty()) return;
    std::map<std::string, std::vector<std::string>> alike;
    for (const auto& [node, why] : causes) alike[why].push_back(node);
    std::vector<std::string> groups;
    for (const auto& [why, names] : alike)
      groups.push_back(fmt::format("{} ({})", fold_names(names), why));
    lines.push_back({kind, fmt::format("{}, left out: {}", head, fmt::join(groups, "; "))});
  };
  if (!left_out.absent.empty())
    lines.push_back({store::kAbsentKind,
                     fmt::format("not attached, left out: {}", fold_names(left_out.absent))});
  by_cause(store::kBusyKind, "busy", left_out.busy);
  by_cause(store::kPausedNodesKind, "in maintenance", left_out.paused);
  by_cause(store::kRefusedKind, "of another version", left_out.deviating);
  if (!left_out.refused.empty())
    lines.push_back({store::kRefusedKind,
                     fmt::format("left out by preflight: {}", fmt::join(left_out.refused, "; "))});
  return lines;
}

namespace {

// Why no node can be used; the pauses come first, since a person made them.
tl::unexpected<Error> nobody_left(const RunPreparer::LeftOut& left_out) {
  if (!left_out.paused.empty()) {
    const auto& [node, why] = *left_out.paused.begin();
    return fail(
        Code::kUnavailable,
        fmt::format("no node can be used: node {} is {}{}; railgauge nodes resume NODES, or "
                    "measure in spite of it with --force --reason TEXT",
                    node, why,
                    left_out.paused.size() > 1
                        ? fmt::format(" (and {} others are paused)", left_out.paused.size() - 1)
                        : ""));
  }
  if (!left_out.busy.empty())
    return fail(Code::kUnavailable,
                fmt::format("every attached node is busy: {}", run::busy_refusal(left_out.busy)));
  return fail(Code::kUnavailable, "none of the nodes is attached");
}

}  // namespace

std::uint64_t RunPreparer::today() { return day_of(fleet::unix_seconds()); }

// The attached nodes that the node set selects; without a set, every idle node. `order` is the
// order of the plan. With skip_absent, busy nodes are left out like absent ones: one job must not
// cost all other nodes their run. Paused nodes are left out in any case, also those whose agent is
// away.
Result<NodeStates> RunPreparer::nodes_to_use(const api::RunRequest& request,
                                             const PlanInput& made_for,
                                             std::vector<std::string>& order, LeftOut& left_out) {
  const std::string& node_set = request.node_set();
  NodeStates live = fleet_.live();
  std::map<std::string, std::string>& busy = left_out.busy;
  auto paused = request.force() ? std::map<std::string, std::string>{} : fleet_.paused();
  if (made_for.prove)  // whoever repairs a node pauses it, and proves it before it is resumed
    for (const std::string& name : made_for.prove->nodes) paused.erase(name);
  const auto is_paused = [&](const std::string& name) {
    const auto found = paused.find(name);
    if (found != paused.end()) left_out.paused.insert(*found);
    return found != paused.end();
  };
  if (node_set.empty())
    std::erase_if(live, [&](const auto& node) {
      if (node.second.presence != fleet::NodePresence::kAttached) return true;
      if (is_paused(node.first)) return true;
      if (request.force() || fleet::busy_text(node.second).empty()) return false;
      busy[node.first] = fleet::busy_text(node.second);
      return true;
    });
  if (live.empty() && (!busy.empty() || !left_out.paused.empty())) return nobody_left(left_out);
  if (live.empty() && node_set.empty())
    return fail(Code::kUnavailable, "no node is attached; start an agent on the nodes to measure");
  if (!node_set.empty()) left_out.asked = RG_TRY(fleet_.select(node_set));
  const std::vector<std::string> names = node_set.empty() ? names_of(live) : left_out.asked;
  NodeStates chosen;
  for (const std::string& name : names) {
    if (is_paused(name)) continue;
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
  if (order.empty()) return nobody_left(left_out);
  return chosen;
}

// All nodes of the run to resume, in its order, with the reason for each that cannot be used now.
// kUnavailable: none can be used.
Result<NodeStates> RunPreparer::nodes_to_resume(const api::RunRequest& request, PlanInput& made_for,
                                                std::vector<std::string>& order,
                                                LeftOut& left_out) {
  const NodeStates all = RG_TRY(fleet_.all());
  order = left_out.asked = RG_TRY(plan::select_nodes(request.node_set(), names_of(all)));
  const auto paused = request.force() ? std::map<std::string, std::string>{} : fleet_.paused();
  NodeStates chosen;
  for (const std::string& name : order) {
    const fleet::NodeState& node = all.at(name);
    chosen.emplace(name, node);
    const std::string busy = request.force() ? "" : fleet::busy_text(node);
    if (const auto pause = paused.find(name); pause != paused.end()) {
      left_out.paused.insert(*pause);
      made_for.unusable[name] = fmt::format("node {} is {}", name, pause->second);
    } else if (node.presence != fleet::NodePresence::kAttached) {
      left_out.absent.push_back(name);
      made_for.unusable[name] = fmt::format("node {} is not attached", name);
    } else if (!busy.empty()) {
      left_out.busy[name] = busy;
      made_for.unusable[name] = fmt::format("node {} is busy: {}", name, busy);
    }
  }
  if (made_for.unusable.size() < order.size()) return chosen;
  return fail(Code::kUnavailable, fmt::format("none of the run's nodes can be used now: {}",
                                              made_for.unusable.begin()->second));
}

// Reads the files that a plan needs: pair lists and the topology. They are read for each plan,
// since the fabric may be recabled while the controller runs.
Result<plan::PlanOptions> RunPreparer::plan_options(const plan::Suite& suite,
                                                    const NodeStates& chosen) const {
  plan::PlanOptions options;
  for (const plan::Stage& stage : suite.stages)
    if (const std::string& file = stage.placement.pairs_file; !file.empty())
      options.pair_lists[file] = RG_TRY(suites_.text_beside(file));
  plan::LearnedTimes& times = options.times.emplace();
  for (const store::StageTimeRow& row : RG_TRY(store_.stage_times()))
    times.add({.key = row.key,
               .rounds = row.rounds,
               .longest_seconds = row.longest_seconds,
               .seconds = row.seconds});
  options.topology = RG_TRY(topology_of(chosen));
  return options;
}

Result<plan::Topology> RunPreparer::topology_of(const NodeStates& nodes) const {
  if (site_.topology.source.empty()) return plan::Topology();
  std::vector<plan::TopologyNode> places;
  for (const auto& [name, node] : nodes) places.push_back(topology_node_of(node));
  std::string text;
  if (!site_.topology.file.empty())
    text = RG_TRY(read_whole_file(site_.topology.file, plan::kMaxTopologyBytes));
  return plan::read_topology(site_.topology, text, places);
}

// Good partners are nodes that nobody uses or pauses and that no open finding names, by their own
// name or by that of their leaf.
Result<plan::ProvedNodes> RunPreparer::nodes_of_proof(const api::RunRequest& request) const {
  if (request.node_set().empty())
    return fail(Code::kInvalidArgument, "prove: which nodes? name them, or -l KEY=VALUE");
  plan::ProvedNodes prove{.nodes = RG_TRY(fleet_.select(request.node_set()))};
  const NodeStates live = fleet_.live();
  const plan::Topology topology = RG_TRY(topology_of(live));
  const auto paused = fleet_.paused();
  const std::set<std::string> suspected = RG_TRY(names_in_open_findings(store_));
  std::vector<plan::PartnerNode> proved;
  std::vector<plan::PartnerNode> good;
  for (const auto& [name, node] : live) {
    const auto place = topology.nodes.find(name);
    plan::PartnerNode one{.name = name,
                          .hardware = plan_node_of(node).hardware,
                          .leaf = place == topology.nodes.end() ? "" : place->second.leaf};
    if (std::ranges::find(prove.nodes, name) != prove.nodes.end()) {
      proved.push_back(std::move(one));
      continue;
    }
    const bool is_free = node.presence == fleet::NodePresence::kAttached &&
                         !paused.contains(name) && fleet::busy_text(node).empty();
    const bool is_suspected = suspected.contains(name) || suspected.contains("leaf " + one.leaf) ||
                              suspected.contains(node.hello->node_id());
    if (is_free && !is_suspected) good.push_back(std::move(one));
  }
  prove.partners = plan::choose_partners(proved, good);
  return prove;
}

// The partners are chosen once: a plan that is made again, without refused nodes, keeps them.
Result<RunPreparer::Prepared> RunPreparer::prepare(const api::RunRequest& request,
                                                   PlanInput made_for) {
  if (request.trigger() != kProveTrigger || made_for.is_resumed || made_for.prove)
    return prepare_on(request, std::move(made_for));
  const plan::ProvedNodes& prove = made_for.prove.emplace(RG_TRY(nodes_of_proof(request)));
  api::RunRequest with_partners = request;
  with_partners.set_node_set(fmt::format("{}{}{}", fmt::join(prove.nodes, ","),
                                         prove.partners.empty() ? "" : ",",
                                         fmt::join(prove.partners, ",")));
  return prepare_on(with_partners, std::move(made_for));
}

// Reads the suite with the kernels that all nodes have, chooses the slice, and outlines the plan.
Result<RunPreparer::Prepared> RunPreparer::prepare_on(const api::RunRequest& request,
                                                      PlanInput made_for) {
  SuiteFolder::Text text = RG_TRY(suites_.text_of(request.suite()));
  std::vector<std::string> order;
  LeftOut left_out;
  const NodeStates chosen =
      RG_TRY(made_for.is_resumed ? nodes_to_resume(request, made_for, order, left_out)
                                 : nodes_to_use(request, made_for, order, left_out));
  std::vector<fleet::NodeKernels> declared;
  for (const std::string& name : order)
    if (!made_for.unusable.contains(name)) declared.push_back({name, chosen.at(name).kernels});
  const fleet::CommonKernels common = fleet::common_kernels(declared);
  const std::vector<KernelInfo>& kernels = common.kernels;
  const plan::SuiteReading reading = plan::read_suite(text.text, text.file_name, kernels);
  if (!reading.suite) return tl::unexpected(plan::error_of(reading.problems));
  left_out.deviating =
      RG_TRY(fleet::nodes_left_out(common, kernels_of(*reading.suite), declared.size()));
  for (const auto& [name, why] : left_out.deviating)
    made_for.unusable.emplace(name, fmt::format("node {}: {}", name, why));
  std::vector<plan::PlanNode> plan_nodes;
  for (const std::string& name : order) {
    if (!made_for.is_resumed && left_out.deviating.contains(name)) continue;
    plan_nodes.push_back(plan_node_of(chosen.at(name)));
    plan_nodes.back().absent = value_of(made_for.unusable, name, "");
  }
  NodeStates placed = chosen;
  plan::SliceOrigin night;
  if (plan::has_slices(*reading.suite)) {
    const NodeStates all = RG_TRY(fleet_.all());
    night = night_of(*reading.suite, made_for, left_out, all);
    for (const std::string& name : night.nodes)
      if (const auto node = all.find(name); node != all.end()) placed.insert(*node);
    text.text = plan::with_night(text.text, night);
    made_for.slice_of = night.nodes;
  }
  if (made_for.prove) text.text = plan::with_proof(text.text, *made_for.prove);
  plan::PlanOptions options = RG_TRY(plan_options(*reading.suite, placed));
  options.prove = made_for.prove ? made_for.prove : reading.suite->prove;
  options.slice_index = night.number;
  for (const std::string& name : night.nodes)
    if (const auto node = placed.find(name); node != placed.end())
      options.slice_nodes.push_back(plan_node_of(node->second));
    else  // a node that left keeps its place in the slice, with the hardware of another
      options.slice_nodes.push_back({.name = name, .hardware = plan_nodes.front().hardware});
  return Prepared{
      RG_TRY(plan::PlanOutline::make(*reading.suite, plan_nodes, kernels, site_, options)),
      std::move(text.text), std::move(left_out), run::uplinks_of(options.topology, chosen),
      std::move(made_for)};
}

// Plans again when preflight refuses a node: rounds and pairs differ without it.
Result<RunPreparer::Prepared> RunPreparer::prepare_admitted(const api::RunRequest& request,
                                                            PlanInput made_for) {
  Prepared prepared = RG_TRY(prepare(request, std::move(made_for)));
  const plan::Plan& head = prepared.outline.head();
  if (head.preflight.empty()) return prepared;
  std::map<std::string, std::string> ids;
  const NodeStates live = fleet_.live();
  for (const std::string& name : head.nodes)
    if (const auto node = live.find(name);
        node != live.end() && !prepared.made_for.unusable.contains(name))
      ids[name] = node->second.hello->node_id();
  const plan::Admission admission = admit_nodes(preflights_, head.preflight, ids);
  if (admission.refused.empty()) return prepared;
  const std::vector<std::string> why = in_words(admission.refused);
  if (admission.admitted.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("no node passes the suite's preflight: {}; railgauge preflight "
                            "--explain shows what to do",
                            fmt::join(why, "; ")));
  api::RunRequest without_refused = request;
  PlanInput again_for = prepared.made_for;
  for (const plan::RefusedNode& node : admission.refused)
    again_for.unusable[node.node] = fmt::format("node {}: preflight: {}", node.node, node.reason);
  if (!again_for.is_resumed)
    without_refused.set_node_set(fmt::format("{}", fmt::join(admission.admitted, ",")));
  Result<Prepared> again = prepare(without_refused, std::move(again_for));
  if (!again)
    return fail(again.error().code, fmt::format("{}; left out by preflight: {}",
                                                again.error().message, fmt::join(why, "; ")));
  LeftOut& left_out = again->left_out;  // nodes that became absent or busy meanwhile
  left_out.absent.insert(left_out.absent.begin(), prepared.left_out.absent.begin(),
                         prepared.left_out.absent.end());
  left_out.busy.merge(prepared.left_out.busy);
  left_out.paused.merge(prepared.left_out.paused);
  left_out.deviating.merge(prepared.left_out.deviating);
  left_out.refused = why;
  return again;
}

// A request that names a run to resume is planned from that run.
Result<RunPreparer::PlannedRun> RunPreparer::plan_run(const api::RunRequest& request,
                                                      std::uint64_t night) {
  if (!request.resume_run_id().empty()) return plan_resumed(request);
  Prepared prepared = RG_TRY(prepare_admitted(request, {.night = night}));
  std::shared_ptr<void> memory = RG_TRY(claim_run(prepared.outline));
  return PlannedRun{.prepared = std::move(prepared), .memory = std::move(memory)};
}

Result<std::shared_ptr<void>> RunPreparer::claim(double bytes) const {
  if (!claim_memory_) return nullptr;
  return claim_memory_(bytes);
}

// The row of a round is made while the next round is open already.
Result<std::shared_ptr<void>> RunPreparer::claim_run(const plan::PlanOutline& outline) const {
  std::uint32_t largest = 0;
  for (const plan::PlannedRound& round : outline.head().round_infos)
    largest = std::max(largest, round.tasks);
  return claim(kBytesOfTask * static_cast<double>(outline.tasks()) + kBytesOfOpenTask * largest);
}

// A plan with more tasks is shown without them.
Result<std::shared_ptr<void>> RunPreparer::claim_answer(const plan::PlanOutline& outline) const {
  if (outline.tasks() > plan::kMostListedTasks) return nullptr;
  return claim(kBytesOfShownTask * static_cast<double>(outline.tasks()));
}

// Plans from the stored suite text, nodes and slice. A plan depends on nothing else, so seeds,
// rounds and task ids are the same as before. A node that cannot be used now keeps its place, and
// its tasks are waived with the reason.
Result<RunPreparer::PlannedRun> RunPreparer::plan_resumed(const api::RunRequest& request) {
  const std::string& id = request.resume_run_id();
  if (!request.suite().name().empty() || !request.suite().text().empty() ||
      !request.node_set().empty())
    return fail(
        Code::kInvalidArgument,
        fmt::format("run {}: a resumed run has the suite and nodes of the run; give none", id));
  if (is_under_way_(id))
    return fail(Code::kFailedPrecondition,
                fmt::format("run {}: it is still under way; wait for it, or cancel it first", id));
  RG_TRY_OK(check_not_resumed(store_, id));
  const RunChain chain = RG_TRY(read_run_chain(store_, id));
  const store::RunRow& run = chain.back();  // the one that was planned as a whole
  api::RunRequest again = request;
  again.mutable_suite()->set_text(run.suite_text);
  again.mutable_suite()->set_file_name(fmt::format("run {}", id));
  again.set_node_set(fmt::format("{}", fmt::join(run.nodes, ",")));
  again.set_skip_absent(false);
  Prepared prepared =
      RG_TRY(prepare_admitted(again, {.night = day_of(run.created_at), .is_resumed = true}));
  std::shared_ptr<void> memory = RG_TRY(claim_run(prepared.outline));
  std::vector<bool> finished =
      RG_TRY(finished_tasks(store_, id, prepared.outline, chain, prepared.made_for.unusable));
  prepared.outline = prepared.outline.without(std::move(finished));
  return PlannedRun{
      .prepared = std::move(prepared), .resumed_run_id = id, .memory = std::move(memory)};
}

}  // namespace railgauge

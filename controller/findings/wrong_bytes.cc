#include "controller/findings/wrong_bytes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <spdlog/spdlog.h>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/run_findings.h"
#include "controller/upgrades/judge_functions.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/lines.h"

namespace railgauge {
namespace {

using NodeSet = std::set<std::string>;

// Places of one run that become findings; more say that the run is at fault.
constexpr std::size_t kPlacesKept = 20;
// Passed tasks that end a finding, at least.
constexpr double kLeastPassed = 3;
// Partners with which two nodes of one task are both named; of fewer neither is.
constexpr std::size_t kManyPartners = 3;

// A task whose verification read wrong bytes, with the nodes that it used. The reason is that of
// its end in the run.
struct BadTask {
  NodeSet nodes{};
  const std::string* reason = nullptr;
};

// The tasks of a run that read wrong bytes, in the order of their ends. Failures of other causes,
// such as a lost peer or a limit of the suite, are not among them.
std::vector<BadTask> bad_tasks(std::span<const store::TaskEnd> ends) {
  std::vector<BadTask> tasks;
  for (const store::TaskEnd& end : ends) {
    if (!reads_wrong_bytes(end.outcome, end.reason)) continue;
    BadTask& task = tasks.emplace_back(BadTask{.reason = &end.reason});
    for (const std::string& endpoint : end.endpoints)
      task.nodes.insert(endpoint.substr(0, endpoint.find('/')));
  }
  return tasks;
}

// The node with most partners, where it has two or more and is alone in that.
std::optional<std::string> commonest(const std::vector<BadTask>& tasks) {
  std::map<std::string, NodeSet> partners;
  for (const BadTask& task : tasks)
    for (const std::string& node : task.nodes)
      for (const std::string& other : task.nodes)
        if (other != node) partners[node].insert(other);
  std::optional<std::string> best;
  std::size_t most = 1;
  bool is_tie = false;
  for (const auto& [node, others] : partners) {
    if (others.size() < most || others.size() < 2) continue;
    is_tie = others.size() == most;
    if (!is_tie) best = node;
    most = others.size();
  }
  // A collective has as many partners for each of its nodes, and accuses none.
  const bool is_one_group = std::ranges::all_of(
      tasks, [&](const BadTask& task) { return task.nodes == tasks.front().nodes; });
  if (is_one_group || (is_tie && most < kManyPartners)) return std::nullopt;
  return best;
}

void add_task(const BadTask& task, WrongBytes& place) {
  if (place.tasks++ == 0) place.example = *task.reason;
  for (const std::string& node : task.nodes)
    if (node != place.node) place.partners.insert(node);
}

}  // namespace

std::vector<WrongBytes> places_of_wrong_bytes(std::span<const store::TaskEnd> ends) {
  std::vector<WrongBytes> places;
  std::vector<BadTask> left = bad_tasks(ends);
  while (!left.empty()) {
    const auto node = commonest(left);
    if (!node) break;
    WrongBytes& place = places.emplace_back(WrongBytes{.where = *node, .node = *node});
    for (const BadTask& task : left)
      if (task.nodes.contains(*node)) add_task(task, place);
    std::erase_if(left, [&](const BadTask& task) { return task.nodes.contains(*node); });
  }
  std::map<NodeSet, WrongBytes> groups;
  for (const BadTask& task : left) {
    WrongBytes& place = groups[task.nodes];
    if (task.nodes.size() == 1) place.node = *task.nodes.begin();
    if (place.where.empty())
      for (const std::string& one : task.nodes)
        place.where += (place.where.empty() ? "" : " ") + one;
    add_task(task, place);
  }
  for (auto& [nodes, place] : groups) places.push_back(std::move(place));
  return places;
}

namespace {

std::string id_of_wrong_bytes(const WrongBytes& place) {
  const std::vector<std::string_view> words = words_of(place.where);
  const std::vector<std::string> names(words.begin(), words.end());
  return fmt::format("{}-{}", kWrongBytesKind,
                     finding_word(names.size() > 2 ? fold_briefly(names) : place.where));
}

store::FindingRow row_of_wrong_bytes(const WrongBytes& place, const store::RunRow& run,
                                     const std::map<std::string, std::string>& node_ids,
                                     double now) {
  const std::vector<std::string> partners(place.partners.begin(), place.partners.end());
  const bool has_node = !place.node.empty();
  return {.finding_id = id_of_wrong_bytes(place),
          .kind = std::string(kWrongBytesKind),
          .severity = severity::kCritical,
          .run_id = run.run_id,
          .node_id = value_of(node_ids, place.node),
          .suspect = place.where,
          .summary =
              fmt::format("{}: wrong bytes in {} task{}{}: {}", place.where, place.tasks,
                          place.tasks == 1 ? "" : "s",
                          has_node && !partners.empty() ? ", with " + fold_briefly(partners) : "",
                          place.example),
          .evidence = fmt::format(R"({{"tasks": {}, "partners": {}}})", place.tasks,
                                  has_node ? partners.size() : 0),
          .opened_at = now,
          .worse = std::nullopt};
}

// Number of tasks with wrong bytes by which the finding was opened or confirmed.
double failed_tasks_of(const store::FindingRow& row) {
  google::protobuf::Struct evidence;
  if (!google::protobuf::util::JsonStringToMessage(row.evidence, &evidence).ok()) return 0;
  const auto tasks = evidence.fields().find("tasks");
  return tasks == evidence.fields().end() ? 0 : tasks->second.number_value();
}

// Ends those whose place passed in this run; `bad` has the nodes of wrong bytes.
Status end_wrong_bytes(store::Store& store, const store::RunRow& run, const NodeSet& bad,
                       double now) {
  for (const store::FindingRow& row : RG_TRY(findings_to_end(store, kWrongBytesKind, run))) {
    std::vector<std::string> nodes;
    for (const std::string_view word : words_of(row.suspect)) nodes.emplace_back(word);
    if (std::ranges::any_of(nodes, [&](const auto& node) { return bad.contains(node); })) continue;
    const auto passed = RG_TRY(store.read(store::count_passed_tasks, run.run_id, nodes));
    if (static_cast<double>(passed) < std::max(kLeastPassed, failed_tasks_of(row))) continue;
    RG_TRY_OK(end_run_finding(store, row, run,
                              fmt::format("{} tasks passed there, with right bytes", passed), now));
  }
  return {};
}

}  // namespace

Status judge_wrong_bytes(store::Store& store, const store::RunRow& run, double now) {
  const std::vector<store::TaskEnd> ends = RG_TRY(store.read(store::read_task_ends, run.run_id));
  NodeSet bad;
  for (const BadTask& task : bad_tasks(ends)) bad.insert(task.nodes.begin(), task.nodes.end());
  std::vector<WrongBytes> places = places_of_wrong_bytes(ends);
  if (places.size() > kPlacesKept) {
    spdlog::warn("run {}: wrong bytes at {} places, of which {} become findings", run.run_id,
                 places.size(), kPlacesKept);
    places.resize(kPlacesKept);
  }
  const RunNodes nodes = places.empty() ? RunNodes() : RG_TRY(read_run_nodes(store, run));
  for (const WrongBytes& place : places)
    if (!nodes.paused.contains(place.node))
      RG_TRY_OK(keep_run_finding(store, row_of_wrong_bytes(place, run, nodes.ids, now),
                                 !place.node.empty() && place.partners.size() >= 2));
  return end_wrong_bytes(store, run, bad, now);
}

}  // namespace railgauge

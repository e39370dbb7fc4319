#include "controller/upgrades/judge_functions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include "controller/plan/suite/suite.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge {

bool reads_wrong_bytes(std::string_view outcome, std::string_view reason) {
  if (outcome != kFailed) return false;
  for (const char* word :
       {"was written", "expected", "wrong", "corrupt", " is 0x", "holds message"})
    if (reason.find(word) != std::string_view::npos) return true;
  return false;
}
namespace {

// The identity of a task without its run: equal places of both sides are compared.
struct TaskPlace {
  std::string kernel;
  std::string parameters;
  std::vector<std::string> where;  // "n1/rxe0:1"
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison with 0 for a pointer
  auto operator<=>(const TaskPlace&) const = default;
};
// The outcomes of one task over the runs of a side. Cancelled tasks do not count.
struct Outcomes {
  // Attempts that came to an end by themselves.
  std::size_t all = 0;
  std::size_t passed = 0;
  // The outcome of those that did not pass; "" where all passed.
  std::string worst{};
  // How often each path through the hardware was taken by those that passed.
  std::map<std::string, std::size_t> paths{};
  // Attempts that read wrong bytes.
  std::size_t corrupted = 0;
};
using Functions = std::map<TaskPlace, Outcomes>;

// The parameters that define the measurement. The stop rule and the times that a measurement takes
// at least are left out: suites may differ in strictness and still measure the same function.
std::string measured_parameters(const std::string& json) {
  google::protobuf::Struct all;
  if (!google::protobuf::util::JsonStringToMessage(json, &all).ok()) return json;
  const auto strictness = plan::stop_rule_parameters();
  const auto is_strictness = [&](const std::string& name) {
    return name == "least_time" || name == "proof_time" ||
           std::ranges::find(strictness, name) != strictness.end();
  };
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : all.fields())
    if (!is_strictness(name)) kept[name] = value.string_value();
  std::string text;
  for (const auto& [name, value] : kept) text += fmt::format("{}={};", name, value);
  return text;
}

// The outcomes of tasks whose nodes all have a role and of which at least one changed.
Functions functions_of(const std::vector<store::SideTaskRow>& tasks, const NodeRoles& roles) {
  Functions out;
  for (const store::SideTaskRow& task : tasks) {
    TaskPlace place{
        .kernel = task.kernel, .parameters = measured_parameters(task.parameters), .where = {}};
    bool is_ours = true;
    bool changed = false;
    for (std::size_t rank = 0; rank < task.nodes.size(); ++rank) {
      is_ours = is_ours && roles.has(task.nodes[rank]);
      changed = changed || roles.changed.contains(task.nodes[rank]);
      place.where.push_back(task.nodes[rank] + "/" + task.endpoints[rank]);
    }
    if (!is_ours || !changed) continue;
    Outcomes& outcomes = out[place];
    if (task.outcome == kCancelledOutcome || task.outcome.empty()) continue;
    ++outcomes.all;
    if (task.outcome == kPassed) {
      ++outcomes.passed;
      ++outcomes.paths[task.path];
    } else if (outcomes.worst.empty() || task.outcome != kWaived) {
      outcomes.worst = task.outcome;  // what was waived once and crashed once did crash
    }
    outcomes.corrupted += reads_wrong_bytes(task.outcome, task.reason) ? 1 : 0;
  }
  return out;
}

// The outcome before. A function that did not always work counts as passed where it worked mostly
// and works less than half as often now.
std::string outcome_before(const Outcomes& before, const Outcomes* after) {
  if (before.all == 0) return "";
  if (before.passed == before.all) return std::string(kPassed);
  const bool mostly = 2 * before.passed >= before.all;
  const bool far_fewer = after != nullptr && !after->worst.empty() &&
                         2 * after->passed * before.all < before.passed * after->all;
  return mostly && far_fewer ? std::string(kPassed) : before.worst;
}

// The path that most passed attempts took; "" where none is known.
std::string usual_path(const Outcomes& of) {
  std::string path;
  std::size_t most = 0;
  for (const auto& [name, count] : of.paths)
    if (count > most) {
      most = count;
      path = name;
    }
  return path;
}

// How many passed attempts took a path of a lower rank than `than`.
std::size_t on_worse_path(const Outcomes& of, int than) {
  std::size_t count = 0;
  for (const auto& [name, tasks] : of.paths)
    if (analysis::path_rank(name) > 0 && analysis::path_rank(name) < than) count += tasks;
  return count;
}

// The path to report for the after side: the usual one. The worst one where the side takes a worse
// path than was usual and did not before, or takes the usual one less than half as often.
std::string path_after(const Outcomes& before, const Outcomes& after) {
  const int usual = analysis::path_rank(usual_path(before));
  const std::size_t was = on_worse_path(before, usual);
  const std::size_t is = on_worse_path(after, usual);
  const bool far_fewer =
      2 * (after.passed - is) * before.passed < (before.passed - was) * after.passed;
  if (is == 0 || (was > 0 && !far_fewer)) return usual_path(was > 0 ? before : after);
  return std::ranges::min_element(after.paths, {},
                                  [](const auto& entry) {
                                    const int rank = analysis::path_rank(entry.first);
                                    return rank > 0 ? rank : std::numeric_limits<int>::max();
                                  })
      ->first;
}

// Reports whether wrong bytes appear now in a larger share of attempts than before.
bool is_newly_corrupted(const Outcomes& before, const Outcomes& after) {
  return after.corrupted > 0 &&
         (before.all == 0 || after.corrupted * before.all > before.corrupted * after.all);
}

// The place of a task from the changed node's side; the other ends are appended by name.
analysis::FunctionSides sides_of(const TaskPlace& place, const NodeRoles& roles) {
  analysis::FunctionSides out{.name = place.kernel};
  std::string others;
  for (const std::string& text : place.where) {
    const auto [node, endpoint] = place_of(text);
    if (out.node.empty() && roles.changed.contains(node)) {
      out.node = node;
      out.endpoint = endpoint.empty() ? "host" : endpoint;
    } else {
      others += (others.empty() ? "" : " ") + text;
    }
  }
  if (!others.empty()) out.endpoint += " with " + others;
  return out;
}

// Kernels with parameters that no changed place could ever run: they carry no statement about a
// single place.
std::set<std::pair<std::string, std::string>> waived_everywhere(const Functions& before,
                                                                const Functions& after) {
  std::set<std::pair<std::string, std::string>> waived;
  std::set<std::pair<std::string, std::string>> ran;
  for (const Functions* side : {&before, &after})
    for (const auto& [place, outcomes] : *side)
      (outcomes.passed == 0 && outcomes.worst == kWaived ? waived : ran)
          .emplace(place.kernel, place.parameters);
  std::erase_if(waived, [&](const auto& what) { return ran.contains(what); });
  return waived;
}

// Adds tasks that the before side lacks where they never pass or read wrong bytes: they were asked
// of a changed node and have no earlier outcome.
void add_after(const NodeRoles& roles, const Functions& before, const Functions& after,
               analysis::UpgradeRuns& out) {
  for (const auto& [place, is] : after) {
    if (before.contains(place)) continue;
    const bool never = is.passed == 0;
    if (is.corrupted == 0 && !never) continue;
    analysis::FunctionSides function = sides_of(place, roles);
    function.outcome_after = is.corrupted > 0 ? "corrupted" : is.worst;
    function.never_passed = never;
    out.functions.push_back(std::move(function));
  }
}

// One task on both sides. `is`: null where the after side never had it.
analysis::FunctionSides compared(const TaskPlace& place, const Outcomes& was, const Outcomes* is,
                                 const NodeRoles& roles) {
  analysis::FunctionSides function = sides_of(place, roles);
  function.path_before = usual_path(was);
  function.outcome_before = outcome_before(was, is);
  // A function that passed now and then before, and never does now, is neither certainly lost nor
  // measured.
  function.never_passed = is == nullptr || is->passed == 0;
  if (is == nullptr) return function;
  function.path_after = path_after(was, *is);
  function.outcome_after = is_newly_corrupted(was, *is) ? "corrupted"
                           : !is->worst.empty()         ? is->worst
                           : is->passed > 0             ? std::string(kPassed)
                                                        : "";
  return function;
}

// Adds the tasks of both sides. Where the before side is history, tasks that the upgrade's suite
// does not contain are skipped.
void add_tasks(const UpgradeData& sides, const NodeRoles& roles, analysis::UpgradeRuns& out) {
  Functions before = functions_of(sides.tasks_before, roles);
  Functions after = functions_of(sides.tasks_after, roles);
  std::vector<std::string> waived;
  for (const auto& what : waived_everywhere(before, after)) {
    const auto is_it = [&](const auto& entry) {
      return std::pair(entry.first.kernel, entry.first.parameters) == what;
    };
    waived.push_back(what.first + " " + what.second);
    std::erase_if(before, is_it);
    std::erase_if(after, is_it);
  }
  for (const auto& [place, was] : before) {
    const auto now = after.find(place);
    // Earlier nights measured more than the upgrade's suite does.
    if (now == after.end() && sides.upgrade.before_is_history) continue;
    out.functions.push_back(
        compared(place, was, now == after.end() ? nullptr : &now->second, roles));
  }
  add_after(roles, before, after, out);
  if (!waived.empty())
    out.notes.push_back(
        fmt::format("not judged, since it is waived everywhere: {}", some_of(waived, 1)));
}

// Adds endpoints that tasks passed on before and that are missing or not active now.
void add_gone_endpoints(const UpgradeData& sides, const NodeRoles& roles,
                        analysis::UpgradeRuns& out) {
  std::set<std::string> used;
  for (const store::SideTaskRow& task : sides.tasks_before)
    for (std::size_t rank = 0; task.outcome == kPassed && rank < task.nodes.size(); ++rank)
      add_used(task.nodes[rank], task.endpoints[rank], used);
  for (const store::EndpointStateRow& state : sides.endpoints) {
    if (!is_away(state) || !roles.changed.contains(state.node) ||
        !used.contains(state.node + "/" + state.endpoint))
      continue;
    out.functions.push_back(
        {.node = state.node,
         .endpoint = state.endpoint,
         .name = state.gone ? "endpoint" : fmt::format("endpoint (state {})", state.state),
         .outcome_before = std::string(kPassed),
         .outcome_after = state.gone ? std::string(analysis::kGone) : "error",
         .is_task = false});
  }
}

// Adds preflight's checks that passed before. A check that is missing now was not measured.
void add_checks(const UpgradeData& sides, analysis::UpgradeRuns& out) {
  for (const auto& [node, checks] : sides.checks)
    for (const store::CheckRow& was : checks.before) {
      if (was.state != text_of(api::CheckState::kPass)) continue;
      const auto now = std::ranges::find_if(checks.after, [&](const store::CheckRow& check) {
        return check.check_id == was.check_id && check.subject == was.subject;
      });
      out.functions.push_back({.node = node,
                               .endpoint = was.subject.empty() ? "host" : was.subject,
                               .name = "check " + was.check_id,
                               .outcome_before = was.state,
                               .outcome_after = now == checks.after.end() ? "" : now->state,
                               .is_task = false});
    }
}

// The nodes of each task among `nodes` alone that passed before and does not now.
std::vector<std::set<std::string>> lost_among(const UpgradeData& sides,
                                              const std::set<std::string>& nodes) {
  const NodeRoles roles{.changed = nodes};
  const Functions before = functions_of(sides.tasks_before, roles);
  const Functions after = functions_of(sides.tasks_after, roles);
  std::vector<std::set<std::string>> out;
  for (const auto& [place, was] : before) {
    const auto now = after.find(place);
    if (now == after.end()) continue;
    const analysis::FunctionSides function = compared(place, was, &now->second, roles);
    if (analysis::lost_functions({&function, 1}).empty()) continue;
    std::set<std::string>& ends = out.emplace_back();
    for (const std::string& text : place.where) ends.insert(place_of(text).first);
  }
  return out;
}

// How many of the tasks the node took part in.
std::size_t count_with(const std::vector<std::set<std::string>>& tasks, const std::string& node) {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks, [&](const auto& ends) { return ends.contains(node); }));
}

// Reports whether the reason of the task names the node as lost; the controller writes that
// sentence.
bool is_said_lost(const store::SideTaskRow& task, const std::string& node) {
  return task.outcome != kPassed &&
         task.reason.find(fmt::format("node {} lost", node)) != std::string::npos;
}

}  // namespace

// Tasks with a node that is known as lost are explained by it. The node that fails
// together with most others is named first, then the next, until all are explained.
std::set<std::string> failed_controls(const UpgradeData& sides,
                                      const std::set<std::string>& controls) {
  std::set<std::string> failed;
  for (const store::SideTaskRow& task : sides.tasks_after)
    for (const std::string& node : task.nodes)
      if (controls.contains(node) && is_said_lost(task, node)) failed.insert(node);
  std::set<std::string> all = controls;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) all.insert(node.node);
  const auto lost_anywhere = lost_among(sides, all);
  auto lost = lost_among(sides, controls);
  for (const std::string& node : failed)
    std::erase_if(lost, [&](const auto& ends) { return ends.contains(node); });
  // Blames first the node that fails together with most others, then the next.
  while (!lost.empty()) {
    const auto worst = std::ranges::max_element(controls, {}, [&](const std::string& node) {
      return std::pair(count_with(lost, node), count_with(lost_anywhere, node));
    });
    failed.insert(*worst);
    std::erase_if(lost, [&](const auto& ends) { return ends.contains(*worst); });
  }
  return failed;
}

// Splits at the first '/', which no node name contains.
std::pair<std::string, std::string> place_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, "host"};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

// Splits at each '+'.
void add_used(const std::string& node, std::string_view endpoint, std::set<std::string>& used) {
  while (!endpoint.empty()) {
    const std::size_t plus = std::min(endpoint.find('+'), endpoint.size());
    used.insert(fmt::format("{}/{}", node, endpoint.substr(0, plus)));
    endpoint.remove_prefix(std::min(plus + 1, endpoint.size()));
  }
}

void add_functions(const UpgradeData& sides, const NodeRoles& roles, analysis::UpgradeRuns& out) {
  add_tasks(sides, roles, out);
  add_gone_endpoints(sides, roles, out);
  add_checks(sides, out);
}

}  // namespace railgauge

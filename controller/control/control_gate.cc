// Preflight: asked by hand, and what it says before a run: nodes that fail what the suite requires
// leave it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/control/control.h"
#include "controller/control/run_gate.h"
#include "controller/plan/topology/node_set.h"

namespace railgauge {
namespace {
std::vector<std::string> in_words(const std::vector<plan::RefusedNode>& refused) {
  std::vector<std::string> words;
  for (const plan::RefusedNode& node : refused)
    words.push_back(fmt::format("{}: {}", node.node, node.reason));
  return words;
}
}  // namespace

Result<api::PreflightReport> Control::run_preflight(const api::PreflightRequest& request) {
  const Nodes live = nodes();
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
    const std::vector<std::string> known = RG_TRY(known_names(live));
    names = RG_TRY(plan::select_nodes(request.node_set(), known));
  }
  for (const std::string& name : names) {
    const auto node = live.find(name);
    question.nodes[name] = node == live.end() ? "" : node->second.hello.node_id();
  }
  return preflights_.ask(question);
}

// The plan is made again over the nodes that may stay: rounds and pairs differ without the others.
Result<Control::Prepared> Control::prepare_admitted(const api::RunRequest& request,
                                                    PlanFor made_for) {
  Prepared prepared = RG_TRY(prepare(request, std::move(made_for)));
  const plan::Plan& head = prepared.outline.head();
  if (head.preflight.empty()) return prepared;
  std::map<std::string, std::string> ids;
  const Nodes live = nodes();
  for (const std::string& name : head.nodes)
    if (const auto node = live.find(name);
        node != live.end() && !prepared.made_for.unusable.contains(name))
      ids[name] = node->second.hello.node_id();
  const plan::Admission admission = admit_nodes(preflights_, head.preflight, ids, "");
  if (admission.refused.empty()) return prepared;
  const std::vector<std::string> why = in_words(admission.refused);
  if (admission.admitted.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("no node passes the suite's preflight: {}; railgauge preflight "
                            "--explain tells what to do",
                            fmt::join(why, "; ")));
  api::RunRequest rest = request;
  PlanFor again_for = prepared.made_for;
  for (const plan::RefusedNode& node : admission.refused)
    again_for.unusable[node.node] = fmt::format("node {}: preflight: {}", node.node, node.reason);
  if (!again_for.is_rest) rest.set_node_set(fmt::format("{}", fmt::join(admission.admitted, ",")));
  Result<Prepared> again = prepare(rest, std::move(again_for));
  if (!again)
    return fail(again.error().code, fmt::format("{}; left out by preflight: {}",
                                                again.error().message, fmt::join(why, "; ")));
  LeftOut& left_out = again->left_out;  // what became absent or busy meanwhile
  left_out.absent.insert(left_out.absent.begin(), prepared.left_out.absent.begin(),
                         prepared.left_out.absent.end());
  left_out.busy.merge(prepared.left_out.busy);
  left_out.refused = why;
  return again;
}

// Which nodes that were asked for are not in the run, and why. An event that is not stored keeps no
// run from starting.
void Control::tell_left_out(const LeftOut& left_out, const store::RunRow& row) {
  const auto tell = [&](const char* kind, const std::string& text) {
    spdlog::info("run {}: {}", row.run_id, text);
    static_cast<void>(
        store_.add_event({.at = row.created_at, .kind = kind, .run_id = row.run_id, .text = text}));
  };
  if (!left_out.absent.empty())
    tell("nodes_absent",
         fmt::format("not attached, left out: {}", fmt::join(left_out.absent, " ")));
  std::vector<std::string> busy;
  for (const auto& [node, why] : left_out.busy) busy.push_back(fmt::format("{} ({})", node, why));
  if (!busy.empty()) tell("nodes_busy", fmt::format("busy, left out: {}", fmt::join(busy, "; ")));
  if (!left_out.refused.empty())
    tell("nodes_refused",
         fmt::format("left out by preflight: {}", fmt::join(left_out.refused, "; ")));
}

}  // namespace railgauge

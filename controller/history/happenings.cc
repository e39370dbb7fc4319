// The past: events, and the ends of a run's tasks in few rows.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/fleet/convert.h"
#include "controller/history/archive.h"
#include "controller/nodes/known_nodes.h"
#include "controller/store/queries/events.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kDefaultEvents = 100;
constexpr std::uint32_t kMaxEvents = 5'000;  // below gRPC's limit of a message
constexpr std::uint32_t kMaxKinds = 64;

Result<store::EventFilter> filter_of(const store::Store& store, const api::EventsRequest& request) {
  store::EventFilter filter;
  if (request.has_since_unix_seconds()) filter.since = request.since_unix_seconds();
  for (const std::string_view kind : split(request.kinds(), ','))
    if (!kind.empty()) filter.kinds.emplace_back(kind);
  if (filter.kinds.size() > kMaxKinds)
    return fail(Code::kInvalidArgument, fmt::format("kinds: {} are named; at most {} are allowed",
                                                    filter.kinds.size(), kMaxKinds));
  filter.run_id = request.run_id();
  if (request.has_after_event_id())
    filter.after = static_cast<std::int64_t>(std::clamp(request.after_event_id(), 0.0, 9e15));
  filter.limit = std::min(request.limit() == 0 ? kDefaultEvents : request.limit(), kMaxEvents);
  if (request.node_set().empty()) return filter;
  filter.nodes = RG_TRY(choose_nodes(store, request.node_set()));
  return filter;
}

// The outcomes in the order in which a person wants to see them; what has not ended is before the
// last one.
std::size_t urgency_of(const std::string& outcome) {
  constexpr std::array kOrder{kFailed, kCrashed, kTimedOut, kCancelledOutcome, kWaived};
  if (outcome == kPassed) return kOrder.size() + 1;
  return static_cast<std::size_t>(std::ranges::find(kOrder, outcome) - kOrder.begin());
}

using Ends = std::vector<const store::TaskEnd*>;

std::set<std::string> nodes_of_end(const store::TaskEnd& end) {
  std::set<std::string> nodes;
  for (const std::string& endpoint : end.endpoints)
    nodes.insert(endpoint.substr(0, endpoint.find('/')));
  return nodes;
}

// The node that all members use, each with other partners; "": there is none, or it is not alone.
std::string node_in_all(const Ends& ends, const std::vector<std::size_t>& members) {
  std::set<std::string> common = nodes_of_end(*ends[members.front()]);
  std::set<std::string> all;
  for (const std::size_t member : members) {
    const std::set<std::string> nodes = nodes_of_end(*ends[member]);
    std::erase_if(common, [&](const std::string& node) { return !nodes.contains(node); });
    all.insert(nodes.begin(), nodes.end());
  }
  return common.size() == 1 && all.size() > 2 ? *common.begin() : "";
}

// Adds the groups of ends that differ in their reasons alone.
void add_groups(const Ends& ends, api::TaskGroups& answer) {
  std::vector<std::string> reasons;
  std::vector<std::string> nodes;
  for (const store::TaskEnd* end : ends) {
    reasons.push_back(end->reason);
    for (const std::string& endpoint : end->endpoints)
      nodes.push_back(endpoint.substr(0, endpoint.find('/')));
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const TextGroup& text : group_texts(reasons, nodes)) {
    api::TaskGroup& group = *answer.add_groups();
    const store::TaskEnd& first = *ends[text.members.front()];
    group.set_stage(first.stage);
    group.set_kernel(first.kernel);
    group.set_state(std::string(api::text_of(first.state)));
    if (!first.outcome.empty()) group.set_outcome(first.outcome);
    const std::string culprit = node_in_all(ends, text.members);
    if (!text.text.empty())
      group.set_reason(text.text + (culprit.empty() ? "" : "; all with " + culprit));
    group.set_first_task_id(first.task_id);
    double tasks = 0;
    std::vector<std::string> endpoints;
    for (const std::size_t member : text.members) {
      tasks += static_cast<double>(ends[member]->tasks);
      endpoints.insert(endpoints.end(), ends[member]->endpoints.begin(),
                       ends[member]->endpoints.end());
    }
    group.set_tasks(tasks);
    group.set_endpoints(fold_names(endpoints));
  }
}

}  // namespace

Result<api::EventList> Archive::list_events(const api::EventsRequest& request) {
  const store::EventFilter filter = RG_TRY(filter_of(store_, request));
  auto list = new_document<api::EventList>();
  // Before the events: one that comes meanwhile is found by the next call.
  list.set_newest_event_id(static_cast<double>(RG_TRY(store_.read(store::newest_event))));
  for (const store::StoredEvent& row : RG_TRY(store_.read(store::find_events, filter))) {
    api::Event& event = *list.add_events();
    event.set_event_id(static_cast<double>(row.id));
    event.set_at(rfc3339(row.event.at));
    event.set_kind(row.event.kind);
    if (!row.node.empty()) event.set_node(row.node);
    if (!row.event.run_id.empty()) event.set_run_id(row.event.run_id);
    event.set_text(row.event.text);
  }
  if (list.events().empty() && !filter.kinds.empty() && !filter.after)
    for (const std::string& kind : RG_TRY(store_.read(store::read_event_kinds)))
      list.add_kinds(kind);
  return list;
}

Result<api::TaskGroups> Archive::get_task_groups(const api::TaskGroupsRequest& request) {
  const std::string run_id =
      request.run_id().empty() ? RG_TRY(store_.read(store::newest_ended_run)) : request.run_id();
  if (run_id.empty()) return fail(Code::kInvalidArgument, "no run has ended yet");
  const auto run = store_.run_summary(run_id);
  if (!run)
    return fail(run.error().code == Code::kNotFound ? Code::kInvalidArgument : run.error().code,
                run.error().message);
  const auto ends = RG_TRY(store_.read(store::read_task_ends, run_id));
  std::map<std::tuple<std::uint32_t, std::size_t, std::string, std::string>, Ends> alike;
  for (const store::TaskEnd& end : ends)
    alike[{end.stage, urgency_of(end.outcome), end.kernel, std::string(api::text_of(end.state))}]
        .push_back(&end);
  auto answer = new_document<api::TaskGroups>();
  *answer.mutable_run() = railgauge::to_api(*run);
  for (std::string& text : RG_TRY(store_.read(store::read_left_out, run_id)))
    answer.mutable_run()->add_left_out(std::move(text));
  for (const auto& [key, members] : alike) add_groups(members, answer);
  return answer;
}

}  // namespace railgauge

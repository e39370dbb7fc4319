#include "controller/control/node_lists.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/fleet/convert.h"
#include "controller/nodes/known_nodes.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/queries.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::size_t kMostReadOneByOne = 64;  // more are cheaper to read all at once
constexpr std::uint32_t kUsualPage = 200;

void clear_facts(api::NodeInfo& info) {
  info.clear_facts();
  info.clear_stack_versions();
  info.clear_stack_settings();
}

bool is_attached(const NodeStates& live, const std::string& name) {
  const auto node = live.find(name);
  return node != live.end() && node->second.presence == fleet::NodePresence::kAttached;
}

// Counts all nodes, and keeps the names that the request looks for.
std::vector<std::string> select_heads(const api::NodeHeadsRequest& request,
                                      const std::vector<std::string>& names, const NodeStates& live,
                                      const Pauses::Held& held, api::NodeHeads& heads) {
  std::uint32_t attached = 0;
  std::uint32_t busy = 0;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const bool is_here = is_attached(live, name);
    const auto& work = is_here ? live.at(name).busy : std::nullopt;
    attached += is_here ? 1 : 0;
    busy += work && work->reasons_size() > 0 ? 1 : 0;
    if (!request.state().empty() && is_here != (request.state() == "attached")) continue;
    if (name.find(request.text()) != std::string::npos) found.push_back(name);
  }
  heads.set_total(static_cast<std::uint32_t>(names.size()));
  heads.set_attached(attached);
  heads.set_busy(busy);
  heads.set_paused(static_cast<std::uint32_t>(held.size()));
  heads.set_matching(static_cast<std::uint32_t>(found.size()));
  return found;
}

template <class Parts>
std::uint32_t active_of(const Parts& parts) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(parts, [](const auto& part) { return part.state() == "active"; }));
}

void fill_head(const api::NodeInfo& info, api::NodeHead& head) {
  head.set_name(info.name());
  head.set_state(info.state());
  if (info.has_last_seen_at()) head.set_last_seen_at(info.last_seen_at());
  if (info.has_busy()) head.set_busy(info.busy());
  *head.mutable_busy_reasons() = info.busy_reasons();
  head.set_nics(static_cast<std::uint32_t>(info.nics_size()));
  head.set_nics_active(active_of(info.nics()));
  head.set_gpus(static_cast<std::uint32_t>(info.gpus_size()));
  head.set_gpus_active(active_of(info.gpus()));
  head.set_stack_hash(info.stack_hash());
  *head.mutable_labels() = info.labels();
  if (info.has_pause()) *head.mutable_pause() = info.pause();
}

void add_words(const store::NodeWords& words, const Pauses::Held& held, api::NodeInfo& info) {
  if (const auto labels = words.labels.find(info.name()); labels != words.labels.end())
    info.mutable_labels()->insert(labels->second.begin(), labels->second.end());
  if (const auto pause = held.find(info.name()); pause != held.end())
    *info.mutable_pause() = to_api(pause->second);
}

}  // namespace

Result<std::shared_ptr<const NodeLists::Known>> NodeLists::known(const Live& live,
                                                                 bool may_be_old) {
  // Readers of pages that come together wait for one reading; the others read by themselves.
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_be_old) lock.lock();
  const double now = monotonic_now_ns() / 1e9;
  if (may_be_old && kept_ && now - kept_->read_seconds < kPageSeconds) return kept_;
  auto fresh = std::make_shared<Known>();
  fresh->live = live();
  for (store::NodeHeadRow& head : RG_TRY(store_.read(store::read_node_heads)))
    fresh->stacks.emplace(std::move(head.name), head.stack);
  fresh->words = RG_TRY(store_.read(store::read_node_words));
  fresh->read_seconds = now;
  if (!may_be_old) lock.lock();
  // A reading that began earlier may end later.
  if (!kept_ || kept_->read_seconds <= now) kept_ = fresh;
  return fresh;
}

Result<const NodeLists::Stack*> NodeLists::stack(std::int64_t id, Stacks& stacks) const {
  const auto [found, is_new] = stacks.try_emplace(id);
  Stack& stack = found->second;
  if (is_new && id != 0) {
    stack.parts = RG_TRY(store_.read(store::read_stack, id));
    if (!stack.parts.versions.empty())
      stack.hash = stack_hash(stack.parts.versions, stack.parts.settings);
  }
  return &stack;
}

Result<api::NodeInfo> NodeLists::info(const std::string& name, const Known& known,
                                      const NodeStates& live, Stacks& stacks,
                                      bool with_facts) const {
  const auto node = live.find(name);
  if (node == live.end()) {
    const std::vector<store::NodeRow> rows =
        RG_TRY(store_.read(store::read_nodes, std::string_view(name)));
    api::NodeInfo info;
    info.set_name(name);
    if (!rows.empty()) info = to_api(rows.front());
    if (!with_facts) clear_facts(info);
    return info;
  }
  const auto stack_of = known.stacks.find(name);
  const Stack& its = *RG_TRY(stack(stack_of == known.stacks.end() ? 0 : stack_of->second, stacks));
  api::NodeInfo info = to_api(node->second);
  if (!its.hash.empty()) info.set_stack_hash(its.hash);
  if (!with_facts) return info;
  const store::TextMap facts = RG_TRY(store_.read(store::read_described, name));
  info.mutable_facts()->insert(facts.begin(), facts.end());
  info.mutable_stack_versions()->insert(its.parts.versions.begin(), its.parts.versions.end());
  info.mutable_stack_settings()->insert(its.parts.settings.begin(), its.parts.settings.end());
  return info;
}

// Facts come from the store, presence and work from the live fleet.
Result<std::map<std::string, api::NodeInfo>> NodeLists::all_infos(const NodeStates& live) const {
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
  return infos;
}

// All names, in order.
std::vector<std::string> NodeLists::names_of(const Known& known, const NodeStates& live) {
  std::vector<std::string> names;
  for (const auto& [name, stack] : known.stacks) names.push_back(name);
  for (const auto& [name, node] : live)
    if (!known.stacks.contains(name)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

Result<api::NodeList> NodeLists::list(const api::ListNodesRequest& request, const Live& source,
                                      const Pauses::Held& held) {
  const std::shared_ptr<const Known> known = RG_TRY(this->known(source, request.may_be_old()));
  const NodeStates& live = known->live;
  std::vector<std::string> names = names_of(*known, live);
  if (!request.node_set().empty())
    names = RG_TRY(choose_nodes(store_, request.node_set(), std::move(names)));
  const auto is_of_store = [&](const std::string& name) { return !live.contains(name); };
  const bool reads_all = names.size() > kMostReadOneByOne &&
                         (request.with_facts() || std::ranges::any_of(names, is_of_store));
  std::map<std::string, api::NodeInfo> infos;
  if (reads_all) infos = RG_TRY(all_infos(live));
  Stacks stacks;
  api::NodeList list;
  list.set_schema_version(kSchemaVersion);
  for (const std::string& name : names) {
    api::NodeInfo& one = *list.add_nodes();
    if (reads_all)
      one = std::move(infos[name]);
    else
      one = RG_TRY(info(name, *known, live, stacks, request.with_facts()));
    if (!request.with_facts()) clear_facts(one);
    add_words(known->words, held, one);
  }
  return list;
}

Result<api::NodeHeads> NodeLists::heads(const api::NodeHeadsRequest& request, const Live& source,
                                        const Pauses::Held& held) {
  const std::uint32_t limit = request.limit() == 0 ? kUsualPage : request.limit();
  if (limit > kMostOfPage)
    return fail(Code::kInvalidArgument,
                fmt::format("limit {}: a page has {} nodes at most", limit, kMostOfPage));
  if (!request.state().empty() && request.state() != "attached" && request.state() != "lost")
    return fail(Code::kInvalidArgument,
                fmt::format("state {}: attached or lost is needed", in_quotes(request.state())));
  const std::shared_ptr<const Known> known = RG_TRY(this->known(source, true));
  const NodeStates& live = known->live;
  api::NodeHeads heads;
  heads.set_schema_version(kSchemaVersion);
  std::vector<std::string> names = select_heads(request, names_of(*known, live), live, held, heads);
  if (!request.after().empty())
    names.erase(names.begin(), std::ranges::upper_bound(names, request.after()));
  if (names.size() > limit) {
    names.resize(limit);
    heads.set_next_after(names.back());
  }
  Stacks stacks;
  for (const std::string& name : names) {
    api::NodeInfo one = RG_TRY(info(name, *known, live, stacks, false));
    add_words(known->words, held, one);
    fill_head(one, *heads.add_nodes());
  }
  return heads;
}

}  // namespace railgauge

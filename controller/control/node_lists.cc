#include "controller/control/node_lists.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/fleet/convert.h"
#include "controller/nodes/known_nodes.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/queries/queries.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::size_t kMostReadOneByOne = 64;  // more are cheaper to read all at once
constexpr std::uint32_t kUsualPage = 200;
constexpr std::size_t kMostStacks = 1'024;  // that are kept

std::uint32_t limit_of(const api::NodeHeadsRequest& request) {
  return request.limit() == 0 ? kUsualPage : request.limit();
}

void clear_facts(api::NodeInfo& info) {
  info.clear_facts();
  info.clear_stack_versions();
  info.clear_stack_settings();
}

// Knows the nodes that are here under another name than one of theirs, which a reading of the store
// has until it is renewed, and the fleet until a run of that name ends.
class Renamed {
 public:
  void add_attached(const std::string& node_id) {
    if (!node_id.empty()) attached_.insert(node_id);
  }
  [[nodiscard]] bool has(std::string_view node_id) const { return attached_.contains(node_id); }
  // For a name that is not in the fleet.
  [[nodiscard]] bool has(const StoredNodes& stored, const std::string& name) const {
    const auto id = stored.ids.find(name);
    return id != stored.ids.end() && has(id->second);
  }

 private:
  std::unordered_set<std::string_view> attached_;  // ids; the nodes outlive this object
};

// Counts all nodes, and keeps the names that the request looks for. Both lists of names are sorted.
std::vector<std::string> select_heads(const api::NodeHeadsRequest& request,
                                      const StoredNodes& stored, const std::vector<LiveHead>& live,
                                      api::NodeHeads& heads) {
  std::uint32_t total = 0;
  std::uint32_t matching = 0;
  std::vector<std::string> found;
  const std::size_t most = limit_of(request) + 1;  // one more says that there is a next page
  Renamed renamed;
  for (const LiveHead& head : live)
    if (head.is_attached) renamed.add_attached(head.hello->node_id());
  const auto add = [&](const std::string& name, const LiveHead* head) {
    if (head == nullptr ? renamed.has(stored, name)
                        : !head->is_attached && renamed.has(head->hello->node_id()))
      return;
    ++total;
    const bool is_here = head != nullptr && head->is_attached;
    heads.set_attached(heads.attached() + (is_here ? 1 : 0));
    heads.set_busy(heads.busy() + (is_here && head->is_busy ? 1 : 0));
    if (!request.state().empty() && is_here != (request.state() == "attached")) return;
    if (name.find(request.text()) == std::string::npos) return;
    ++matching;
    if (name > request.after() && found.size() < most) found.push_back(name);
  };
  auto here = live.begin();
  const auto add_live_before = [&](const std::string* name) {
    for (; here != live.end() && (name == nullptr || here->name < *name); ++here)
      add(here->name, &*here);
  };
  for (const auto& [name, stack] : stored.stacks) {
    add_live_before(&name);
    const bool is_live = here != live.end() && here->name == name;
    add(name, is_live ? &*here : nullptr);
    if (is_live) ++here;
  }
  add_live_before(nullptr);
  heads.set_total(total);
  heads.set_matching(matching);
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

Result<StoredNodes> read_stored(const store::Store& store) {
  StoredNodes stored;
  for (store::NodeHeadRow& head : RG_TRY(store.read(store::read_node_heads)))
    stored.stacks.emplace(std::move(head.name), head.stack);
  // Bonds of one name come in the order in which its nodes were seen: the last one has the name.
  for (store::NodeBond& bond : RG_TRY(store.read(store::read_bonds)))
    stored.ids[bond.name] = std::move(bond.node_id);
  stored.words = RG_TRY(store.read(store::read_node_words));
  return stored;
}

}  // namespace

NodeLists::NodeLists(const store::Store& store)
    : store_(store),
      reading_([this] { return read_stored(store_); }, [this] { return store_.node_changes(); }) {}

Result<std::shared_ptr<const NodeLists::Stack>> NodeLists::stack(std::int64_t id) {
  {
    const std::lock_guard lock(stacks_mutex_);
    if (const auto found = stacks_.find(id); found != stacks_.end()) return found->second;
  }
  Stack stack;
  if (id != 0) {
    stack.parts = RG_TRY(store_.read(store::read_stack, id));
    if (!stack.parts.versions.empty())
      stack.hash = stack_hash(stack.parts.versions, stack.parts.settings);
  }
  auto kept = std::make_shared<const Stack>(std::move(stack));
  const std::lock_guard lock(stacks_mutex_);
  if (stacks_.size() >= kMostStacks) stacks_.clear();
  stacks_.emplace(id, kept);
  return kept;
}

Result<api::NodeInfo> NodeLists::info(const std::string& name, const StoredNodes& stored,
                                      const NodeStates& live, bool with_facts) {
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
  const auto stack_of = stored.stacks.find(name);
  const std::shared_ptr<const Stack> its =
      RG_TRY(stack(stack_of == stored.stacks.end() ? 0 : stack_of->second));
  api::NodeInfo info = to_api(node->second);
  if (!its->hash.empty()) info.set_stack_hash(its->hash);
  if (!with_facts) return info;
  const store::TextMap facts = RG_TRY(store_.read(store::read_described, name));
  info.mutable_facts()->insert(facts.begin(), facts.end());
  info.mutable_stack_versions()->insert(its->parts.versions.begin(), its->parts.versions.end());
  info.mutable_stack_settings()->insert(its->parts.settings.begin(), its->parts.settings.end());
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

Result<NodeLists::Chosen> NodeLists::choose(const api::ListNodesRequest& request, const Live& live,
                                            const StoredNodes& stored) const {
  // The page of one node needs no list of all names.
  if (request.may_be_old() && stored.stacks.contains(request.node_set()))
    return Chosen{.names = {request.node_set()}, .live = live.of({request.node_set()})};
  Chosen chosen{.live = live.all()};
  Renamed renamed;
  for (const auto& [name, node] : chosen.live)
    if (node.presence == fleet::NodePresence::kAttached)
      renamed.add_attached(node.hello->node_id());
  for (const auto& [name, node] : chosen.live)
    if (node.presence == fleet::NodePresence::kAttached || !renamed.has(node.hello->node_id()))
      chosen.names.push_back(name);
  for (const auto& [name, stack] : stored.stacks)
    if (!chosen.live.contains(name) && !renamed.has(stored, name)) chosen.names.push_back(name);
  std::ranges::sort(chosen.names);
  if (!request.node_set().empty())
    chosen.names = RG_TRY(choose_nodes(store_, request.node_set(), std::move(chosen.names)));
  return chosen;
}

Result<api::NodeList> NodeLists::list(const api::ListNodesRequest& request, const Live& source,
                                      const Pauses::Held& held) {
  const std::shared_ptr<const StoredNodes> stored =
      RG_TRY(request.may_be_old() ? reading_.newest() : reading_.read_now());
  const auto [names, live] = RG_TRY(choose(request, source, *stored));
  bool has_of_store = false;
  for (const std::string& name : names) has_of_store = has_of_store || !live.contains(name);
  const bool reads_all = names.size() > kMostReadOneByOne && (request.with_facts() || has_of_store);
  std::map<std::string, api::NodeInfo> infos;
  if (reads_all) infos = RG_TRY(all_infos(live));
  api::NodeList list;
  list.set_schema_version(kSchemaVersion);
  for (const std::string& name : names) {
    api::NodeInfo& one = *list.add_nodes();
    if (reads_all)
      one = std::move(infos[name]);
    else
      one = RG_TRY(info(name, *stored, live, request.with_facts()));
    if (!request.with_facts()) clear_facts(one);
    add_words(stored->words, held, one);
  }
  return list;
}

Result<api::NodeHeads> NodeLists::heads(const api::NodeHeadsRequest& request, const Live& source,
                                        const Pauses::Held& held) {
  const std::uint32_t limit = limit_of(request);
  if (limit > kMostOfPage)
    return fail(Code::kInvalidArgument,
                fmt::format("limit {}: a page has {} nodes at most", limit, kMostOfPage));
  if (!request.state().empty() && request.state() != "attached" && request.state() != "lost")
    return fail(Code::kInvalidArgument,
                fmt::format("state {}: attached or lost is needed", in_quotes(request.state())));
  const std::shared_ptr<const StoredNodes> stored = RG_TRY(reading_.newest());
  api::NodeHeads heads;
  heads.set_schema_version(kSchemaVersion);
  heads.set_paused(static_cast<std::uint32_t>(held.size()));
  std::vector<std::string> names = select_heads(request, *stored, source.heads(), heads);
  if (names.size() > limit) {
    names.resize(limit);
    heads.set_next_after(names.back());
  }
  const NodeStates live = source.of(names);
  for (const std::string& name : names) {
    api::NodeInfo one = RG_TRY(info(name, *stored, live, false));
    add_words(stored->words, held, one);
    fill_head(one, *heads.add_nodes());
  }
  return heads;
}

}  // namespace railgauge

#include "controller/plan/follow_up.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::plan {
namespace {

constexpr const char* kGpuIndex = "gpu";

// A rank placed without rails is on the node's first port, which counts as rail 0.
bool is_on_rail(const PlannedRank& rank, std::int32_t rail) {
  // Placed without rails: the first port.
  return rank.rail == rail || (rank.rail < 0 && rail == 0);
}

// "host" or "gpu", from the kernel's parameter `memory`.
std::string_view memory_of(const PlannedTask& task) {
  return value_of(task.parameters, "memory", "host").starts_with("host") ? "host" : "gpu";
}

// A pair of nodes that is measured.
bool is_pair(const PlannedTask& task) {
  return task.ranks.size() == 2 && task.waived_reason.empty() && !task.idle_filler &&
         task.ranks[0].node != task.ranks[1].node && !is_follow_up(task.id);
}

// Tasks of both directions at once name no slow direction.
bool is_one_way(const PlannedTask& task) {
  return value_of(task.parameters, "direction") != "both";
}

// Bytes of a read kernel flow from the second rank to the first.
std::size_t sender_of(const PlannedTask& task) {
  return task.kernel.find(".read_") != std::string::npos ? 1 : 0;
}

// The planned pairs of one kernel, memory and rail, as far as they are wanted. The last one seen
// counts. Tasks are copied, since those of a round go when the next round is read.
struct Group {
  std::string kernel{};
  std::string memory{};
  std::int32_t rail = 0;
  // By wanted node: its planned rank, absent until one is seen.
  std::unordered_map<std::string, std::optional<PlannedRank>> ends{};
  // By wanted pair: its planned task, absent until one is seen.
  std::map<std::pair<std::string, std::string>, std::optional<PlannedTask>> pairs{};
  std::optional<PlannedTask> any{};

  // Remembers the task where it is one of the wanted ends or pairs.
  void see(const PlannedTask& task) {
    const PlannedRank& from = task.ranks[sender_of(task)];
    const PlannedRank& to = task.ranks[1 - sender_of(task)];
    if (!is_on_rail(from, rail) || !is_on_rail(to, rail)) return;
    if (!any || any->stage != task.stage) any = task;
    const auto sends = ends.find(from.node);
    const auto receives = ends.find(to.node);
    if (sends != ends.end()) sends->second = from;
    if (receives != ends.end()) receives->second = to;
    if (sends == ends.end() || receives == ends.end()) return;
    if (const auto pair = pairs.find({from.node, to.node}); pair != pairs.end())
      pair->second = task;
  }
};

}  // namespace

// One pass over the plan serves all wanted pairs. The properties that tasks of a stage share are
// checked once for each stage.
class PlannedPairs::Groups {
 public:
  explicit Groups(std::span<const WantedPair> wanted) {
    for (const WantedPair& pair : wanted) {
      const std::size_t number = find(pair);
      if (number == groups_.size())
        groups_.push_back({.kernel = pair.kernel, .memory = pair.memory, .rail = pair.rail});
      Group& group = groups_[number];
      group.ends.try_emplace(pair.from);
      group.ends.try_emplace(pair.to);
      group.pairs.try_emplace({pair.from, pair.to});
    }
  }
  [[nodiscard]] bool wants(std::string_view kernel) const {
    return std::ranges::find(groups_, kernel, &Group::kernel) != groups_.end();
  }
  void see(std::span<const PlannedTask> tasks) {
    for (const PlannedTask& task : tasks) {
      if (!is_pair(task)) continue;
      const auto [stage, fresh] = by_stage_.try_emplace(task.stage);
      if (fresh) stage->second = that_fit(task);
      for (Group* group : stage->second) group->see(task);
    }
  }
  [[nodiscard]] const Group& of(const WantedPair& pair) const { return groups_.at(find(pair)); }

 private:
  // Returns the number of the pair's group; groups_.size(): there is none yet.
  [[nodiscard]] std::size_t find(const WantedPair& pair) const {
    std::size_t number = 0;
    for (const Group& group : groups_) {
      if (group.kernel == pair.kernel && group.memory == pair.memory && group.rail == pair.rail)
        break;
      ++number;
    }
    return number;
  }
  std::vector<Group*> that_fit(const PlannedTask& task) {
    std::vector<Group*> fitting;
    if (!is_one_way(task)) return fitting;
    for (Group& group : groups_)
      if (group.kernel == task.kernel && group.memory == memory_of(task)) fitting.push_back(&group);
    return fitting;
  }

  // Few: one for each kernel, memory and rail. A deque keeps references valid.
  std::deque<Group> groups_;
  std::map<std::uint32_t, std::vector<Group*>> by_stage_;
};

PlannedPairs::PlannedPairs()
    : groups_(std::make_shared<const Groups>(std::span<const WantedPair>())) {}

PlannedPairs::PlannedPairs(const Plan& plan, std::span<const WantedPair> wanted) {
  const auto groups = std::make_shared<Groups>(wanted);
  groups->see(plan.tasks);
  groups_ = groups;
}

PlannedPairs::PlannedPairs(const PlanOutline& outline, std::span<const WantedPair> wanted) {
  const auto groups = std::make_shared<Groups>(wanted);
  const Plan& head = outline.head();
  for (std::size_t round = 0; round < head.rounds; ++round)
    if (groups->wants(head.stages[head.round_infos[round].stage].kernel))
      groups->see(outline.tasks_of(round));
  groups_ = groups;
}

namespace {

// GPU whose memory the rank uses; "" where the plan does not name one.
std::string gpu_of(const PlannedTask& task, const PlannedRank& rank) {
  if (!rank.gpu.empty()) return rank.gpu;
  const std::string text = value_of(task.parameters, kGpuIndex);
  const std::string number = text.starts_with("gpu") ? text.substr(3) : text;
  const bool is_number = number.find_first_not_of("0123456789") == std::string::npos;
  return is_number && !number.empty() ? "gpu" + number : "";
}

// Among the node's active GPUs that the task does not use, the one nearest to the rank's NIC port.
// "": there is none.
std::string other_gpu_of(const PlannedTask& task, const PlannedRank& rank, const NodeOf& node_of) {
  const std::string used = gpu_of(task, rank);
  const std::optional<PlanNode> node = node_of ? node_of(rank.node) : std::nullopt;
  if (used.empty() || !node) return "";
  const std::string device = rank.endpoint.substr(0, rank.endpoint.rfind(':'));
  std::optional<std::tuple<std::size_t, std::string, std::string>> nearest;
  for (const NodeEndpoint& gpu : node->endpoints) {
    if (gpu.kind != "gpu" || !gpu.active || gpu.name == used) continue;
    std::tuple place{pci_distance_rank(value_of(gpu.distances, device)), gpu.pci_address, gpu.name};
    if (!nearest || place < *nearest) nearest = std::move(place);
  }
  return nearest ? std::get<2>(*nearest) : "";
}

// Copy of a planned task with the id and place of an added one; properties of the old ends are
// removed.
PlannedTask added(const Plan& plan, const PlannedTask& like, std::string id, std::string purpose) {
  PlannedTask task = like;
  task.id = std::move(id);
  task.round = plan.rounds;
  task.repetition = 1;
  task.distance = DistanceClass::kUnknown;
  task.mixed_round = true;
  task.facts.erase(std::string(kDistanceFact));
  task.facts[kFollowUpFact] = std::move(purpose);
  return task;
}

}  // namespace

bool is_follow_up(std::string_view task_id) {
  return task_id.starts_with("d") || task_id.starts_with("a") || task_id.starts_with("g");
}

// A task like the planned pair where there is one; else like any task of the group, between the
// ends that the nodes have in other pairs.
std::vector<PlannedTask> follow_ups_of(const Plan& head, const PlannedPairs& planned,
                                       std::span<const WantedPair> wanted,
                                       std::uint32_t first_number, const NodeOf& node_of) {
  std::vector<PlannedTask> tasks;
  for (const WantedPair& pair : wanted) {
    const Group& group = planned.groups().of(pair);
    const std::optional<PlannedRank>& from = group.ends.at(pair.from);
    const std::optional<PlannedRank>& to = group.ends.at(pair.to);
    if (!from || !to || pair.from == pair.to) continue;
    const std::optional<PlannedTask>& same = group.pairs.at({pair.from, pair.to});
    const PlannedTask& like = same ? *same : *group.any;
    const char kind = pair.purpose == kMeasuredTwice ? 'a' : 'd';
    const auto number = first_number + static_cast<std::uint32_t>(tasks.size());
    PlannedTask task = added(head, like, fmt::format("{}{:04}", kind, number), pair.purpose);
    task.ranks[sender_of(task)] = *from;
    task.ranks[1 - sender_of(task)] = *to;
    bool is_possible = true;
    for (PlannedRank& rank : task.ranks)
      if (!pair.other_gpu_of.empty() && rank.node == pair.other_gpu_of) {
        rank.gpu = other_gpu_of(task, rank, node_of);
        is_possible = !rank.gpu.empty();
      }
    if (is_possible) tasks.push_back(std::move(task));
  }
  return tasks;
}

// A part on one node loads no link of the fabric.
PlannedTask part_of_group(const Plan& plan, const PlannedTask& whole,
                          const std::set<std::string>& nodes, std::uint32_t number) {
  PlannedTask task = added(plan, whole, fmt::format("g{:04}", number), "halving");
  std::erase_if(task.ranks, [&](const PlannedRank& rank) { return !nodes.contains(rank.node); });
  task.loads_fabric = nodes.size() > 1 && whole.loads_fabric;
  return task;
}

// Round and class of the planned task do not apply to the new end.
PlannedTask with_partner(const Plan& plan, const PlannedTask& task, std::uint32_t replaced_rank,
                         const PlannedRank& partner) {
  PlannedTask other = task;
  other.id = fmt::format("{}e{}", task.id, replaced_rank);
  other.round = plan.rounds;
  other.ranks.at(replaced_rank) = partner;
  other.distance = DistanceClass::kUnknown;
  other.mixed_round = true;
  // The distance belonged to the replaced ends.
  other.facts.erase(std::string(kDistanceFact));
  other.facts[kInsteadOfFact] = task.id;
  return other;
}

}  // namespace railgauge::plan

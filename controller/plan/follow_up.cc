#include "controller/plan/follow_up.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/pci_distance.h"

namespace railgauge::plan {
namespace {

bool is_on_rail(const PlannedRank& rank, std::int32_t rail) {
  return rank.rail == rail || (rank.rail < 0 && rail == 0);  // placed without rails: the first port
}

std::string_view memory_of(const PlannedTask& task) {
  const auto memory = task.parameters.find("memory");
  const bool host = memory == task.parameters.end() || memory->second.starts_with("host");
  return host ? "host" : "gpu";
}

// A pair of nodes on that rail, with that kernel and memory, in one direction.
bool fits(const PlannedTask& task, const WantedPair& wanted) {
  if (task.ranks.size() != 2 || task.kernel != wanted.kernel || !task.waived_reason.empty() ||
      task.idle_filler || task.ranks[0].node == task.ranks[1].node || is_follow_up(task.id))
    return false;
  const auto direction = task.parameters.find("direction");
  if (direction != task.parameters.end() && direction->second == "both") return false;
  return memory_of(task) == wanted.memory && is_on_rail(task.ranks[0], wanted.rail) &&
         is_on_rail(task.ranks[1], wanted.rail);
}

// What is read goes from the one who is asked.
std::size_t sender_of(const PlannedTask& task) {
  return task.kernel.find(".read_") != std::string::npos ? 1 : 0;
}

// Of the same port with another GPU, as some planned task has it.
const PlannedRank* with_other_gpu(const Plan& plan, const PlannedRank& rank) {
  for (const PlannedTask& task : plan.tasks)
    for (const PlannedRank& other : task.ranks)
      if (other.node == rank.node && other.endpoint == rank.endpoint && !other.gpu.empty() &&
          other.gpu != rank.gpu)
        return &other;
  return nullptr;
}

// With the id and place of an added task, and none of what held for the planned one's ends.
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

std::optional<PlannedTask> follow_up_of(const Plan& plan, const WantedPair& wanted,
                                        std::uint32_t number) {
  const PlannedTask* like = nullptr;  // the very pair's, where there is one
  const PlannedRank* from = nullptr;
  const PlannedRank* to = nullptr;
  bool is_same_pair = false;
  for (const PlannedTask& task : plan.tasks) {
    if (!fits(task, wanted)) continue;
    const bool same = task.ranks[sender_of(task)].node == wanted.from &&
                      task.ranks[1 - sender_of(task)].node == wanted.to;
    if (same || !is_same_pair) like = &task;
    is_same_pair = is_same_pair || same;
    for (const PlannedRank& rank : task.ranks) {
      if (rank.node == wanted.from) from = &rank;
      if (rank.node == wanted.to) to = &rank;
    }
  }
  if (from == nullptr || to == nullptr || from == to) return std::nullopt;
  const char kind = wanted.purpose == kMeasuredTwice ? 'a' : 'd';
  PlannedTask task = added(plan, *like, fmt::format("{}{:04}", kind, number), wanted.purpose);
  task.ranks[sender_of(task)] = *from;
  task.ranks[1 - sender_of(task)] = *to;
  if (wanted.other_gpu_of.empty()) return task;
  for (PlannedRank& rank : task.ranks) {
    if (rank.node != wanted.other_gpu_of) continue;
    const PlannedRank* other = with_other_gpu(plan, rank);
    if (other == nullptr) return std::nullopt;
    rank.gpu = other->gpu;
  }
  return task;
}

PlannedTask part_of_group(const Plan& plan, const PlannedTask& whole,
                          const std::set<std::string>& nodes, std::uint32_t number) {
  PlannedTask task = added(plan, whole, fmt::format("g{:04}", number), "halving");
  std::erase_if(task.ranks, [&](const PlannedRank& rank) { return !nodes.contains(rank.node); });
  task.loads_fabric = nodes.size() > 1 && whole.loads_fabric;
  return task;
}

}  // namespace railgauge::plan

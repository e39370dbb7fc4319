#include "controller/plan/elsewhere.h"

#include <fmt/format.h>

#include "kernels/core/pci_distance.h"

namespace railgauge::plan {

PlannedTask with_partner(const Plan& plan, const PlannedTask& task, std::uint32_t replaced_rank,
                         const PlannedRank& partner) {
  PlannedTask other = task;
  other.id = fmt::format("{}e{}", task.id, replaced_rank);
  other.round = plan.rounds;
  other.ranks.at(replaced_rank) = partner;
  other.distance = DistanceClass::kUnknown;
  other.mixed_round = true;
  other.facts.erase(std::string(kDistanceFact));  // of the ends that were there
  other.facts[kInsteadOfFact] = task.id;
  return other;
}

}  // namespace railgauge::plan

#include "controller/plan/choice.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "kernels/core/pci_distance.h"

namespace railgauge::plan {
namespace {

using Candidates = std::vector<const NodeEndpoint*>;

// Of the kind, and of the name where one is wanted: active ones first (not by slot alone: a rail
// keeps its place when another's endpoint is down), then by slot, which a driver upgrade does not
// change; software devices, without one, come last.
Candidates candidates_of(const PlanNode& node, const std::string& kind, const std::string& wanted,
                         bool by_slot_alone = false) {
  Candidates candidates;
  for (const NodeEndpoint& endpoint : node.endpoints)
    if (endpoint.kind == kind && (wanted.empty() || endpoint.name == wanted))
      candidates.push_back(&endpoint);
  std::ranges::sort(candidates, {}, [&](const NodeEndpoint* endpoint) {
    return std::tuple(!by_slot_alone && !endpoint->active, endpoint->pci_address.empty(),
                      std::string_view(endpoint->pci_address), std::string_view(endpoint->name));
  });
  return candidates;
}

std::string not_active(const PlanNode& node, const NodeEndpoint& endpoint) {
  return fmt::format("{}/{} is not active", node.name, endpoint.name);
}

Choice choice_of(const PlanNode& node, const NodeEndpoint& endpoint) {
  if (!endpoint.active) return {.reason = not_active(node, endpoint)};
  return {.endpoint = endpoint.name, .rate_bits_per_second = endpoint.rate_bits_per_second};
}

std::string distance_between(const NodeEndpoint& gpu, const NodeEndpoint& nic) {
  const std::string device = nic.name.substr(0, nic.name.rfind(':'));
  const auto told = gpu.distances.find(device);
  return told == gpu.distances.end() ? std::string(kUnknownDistance) : told->second;
}

Choice choice_of(const PlanNode& node, const NodeEndpoint& gpu, const NodeEndpoint& nic) {
  if (!gpu.active) return {.reason = not_active(node, gpu)};
  Choice choice = choice_of(node, nic);
  if (!choice.reason.empty()) return choice;
  choice.gpu = gpu.name;
  choice.distance = distance_between(gpu, nic);
  return choice;
}

// The first of the candidates, which have the active ones first, that none is nearer than.
const NodeEndpoint& nearest_to(const NodeEndpoint& gpu, const Candidates& nics) {
  return **std::ranges::min_element(nics, {}, [&](const NodeEndpoint* nic) {
    return std::tuple(!nic->active, pci_distance_rank(distance_between(gpu, *nic)));
  });
}

std::vector<Choice> choose_gpus_and_nics(const PlanNode& node, bool only_nearest) {
  const Candidates gpus = candidates_of(node, "gpu", "");
  const Candidates nics = candidates_of(node, "nic", "");
  if (gpus.empty() || nics.empty())
    return {{.reason = fmt::format("{} has no {}", node.name,
                                   !gpus.empty()   ? "nic"
                                   : !nics.empty() ? "gpu"
                                                   : "gpu and no nic")}};
  std::vector<Choice> all;
  for (const NodeEndpoint* gpu : gpus) {
    if (only_nearest) {
      all.push_back(choice_of(node, *gpu, nearest_to(*gpu, nics)));
      continue;
    }
    for (const NodeEndpoint* nic : nics) all.push_back(choice_of(node, *gpu, *nic));
  }
  return all;
}

}  // namespace

std::vector<Choice> choose_endpoints(const PlanNode& node, const std::string& kind,
                                     const Placement& placement) {
  if (kind == "none" || kind.empty()) return {Choice{}};
  if (placement.chooses_gpu()) return choose_gpus_and_nics(node, placement.each == "gpu");
  const std::string& wanted = placement.endpoint;
  const Candidates candidates = candidates_of(node, kind, wanted, placement.is_by_rail());
  if (candidates.empty())
    return {{.reason = wanted.empty() ? fmt::format("{} has no {}", node.name, kind)
                                      : fmt::format("{} has no {} {}", node.name, kind, wanted)}};
  if (!placement.each.empty() || placement.is_by_rail()) {
    std::vector<Choice> all;
    all.reserve(candidates.size());
    for (const NodeEndpoint* endpoint : candidates) all.push_back(choice_of(node, *endpoint));
    return all;
  }
  if (!candidates.front()->active && wanted.empty())
    return {{.reason = fmt::format("{} has no active {}", node.name, kind)}};
  return {choice_of(node, *candidates.front())};
}

}  // namespace railgauge::plan

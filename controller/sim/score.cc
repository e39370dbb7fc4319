#include "controller/sim/score.h"

#include <algorithm>

namespace railgauge::simulator {

double usual_drop(FaultKind kind) {
  if (kind == FaultKind::kFlapping) return 0.5;
  return kind == FaultKind::kPair ? 0.3 : 0.1;
}

Score score_of(const Trial& trial, std::uint64_t seed) {
  Figures figures;
  return score_of(trial, seed, figures);
}

// Only confirmed suspects count as accused. Two faults must be the first two suspects, in any
// order.
Score score_of(const Trial& trial, std::uint64_t seed, Figures& reused) {
  FabricSpec spec = trial.fabric;
  spec.seed = seed;
  Fabric fabric(spec);
  const std::vector<Fault> faults = fabric.random_faults(trial.kind, trial.drop);
  for (const Fault& fault : faults) fabric.inject(fault);
  const localise::PairData& data = trial.quick_rounds > 0
                                       ? fabric.quick_scan(trial.quick_rounds, reused)
                                       : fabric.all_pairs(reused);
  const auto found = localise::find_suspects(data);
  Score score{.runs = 1};
  if (!found) return score;
  std::vector<localise::Element> accused;
  for (const localise::Suspect& suspect : found->suspects)
    if (suspect.confirmed) accused.push_back(suspect.element);
  // A suspect is right only when element, direction and memory all agree with the fault.
  const auto is_fault = [&faults](const localise::Element& element) {
    return std::ranges::any_of(faults, [&](const Fault& f) { return f.element == element; });
  };
  score.wrong = std::ranges::all_of(accused, is_fault) ? 0 : 1;
  if (faults.empty()) {
    score.right = accused.empty() ? 1 : 0;
    return score;
  }
  const std::size_t first = std::min(accused.size(), faults.size());
  const bool all = std::ranges::all_of(faults, [&](const Fault& fault) {
    return std::find(accused.begin(), accused.begin() + static_cast<std::ptrdiff_t>(first),
                     fault.element) != accused.begin() + static_cast<std::ptrdiff_t>(first);
  });
  score.right = all ? 1 : 0;
  return score;
}

}  // namespace railgauge::simulator

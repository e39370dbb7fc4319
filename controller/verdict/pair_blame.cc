#include "controller/verdict/pair_blame.h"

#include <optional>

namespace railgauge::analysis {
namespace {

// The mean loss of the node's pairs with anybody but `partner`; absent: it has none.
std::optional<double> loss_elsewhere(std::span<const PairLoss> pairs, const std::string& node,
                                     const std::string& partner) {
  double sum = 0;
  double count = 0;
  for (const PairLoss& pair : pairs) {
    const bool is_its = pair.node == node || pair.other_node == node;
    const bool is_shared = pair.node == partner || pair.other_node == partner;
    if (!is_its || is_shared) continue;
    sum += pair.loss;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace

End blamed_end(std::span<const PairLoss> pairs, std::size_t which) {
  const PairLoss& pair = pairs[which];
  if (!pair.other_changed || pair.other_node.empty() || pair.other_node == pair.node)
    return End::kFirst;
  const auto first = loss_elsewhere(pairs, pair.node, pair.other_node);
  const auto other = loss_elsewhere(pairs, pair.other_node, pair.node);
  // At least half of the pair's loss, in the pairs with other partners.
  const auto lost = [&](const std::optional<double>& elsewhere) {
    return elsewhere && 2 * *elsewhere >= pair.loss;
  };
  const auto is_well = [&](const std::optional<double>& elsewhere) {
    return elsewhere && 2 * *elsewhere < pair.loss;
  };
  if (lost(first) && is_well(other)) return End::kFirst;
  if (lost(other) && is_well(first)) return End::kOther;
  return End::kEither;
}

}  // namespace railgauge::analysis

#include "controller/findings/changes/brief_pairs.h"

#include <algorithm>
#include <optional>

namespace railgauge {
namespace {

// The number of bits of a node; a rail has 6 (parts::kMostRails), the memory 1.
constexpr unsigned kNodeBits = 24;

// The places of a figure in one number.
std::uint64_t key_of(std::uint32_t from, std::uint32_t to, std::uint32_t rail, bool gpu) {
  const std::uint64_t ends = (std::uint64_t{from} << kNodeBits) | to;
  return (ends << 7U) | (std::uint64_t{rail} << 1U) | (gpu ? 1U : 0U);
}

}  // namespace

Result<BriefPairs> BriefPairs::of(const store::Store& store, const RunPlaces& places,
                                  const std::string& run_id) {
  BriefPairs out;
  RG_TRY_OK(visit_brief_pair_points(store, run_id, [&](const PairPoint& point) -> Status {
    const auto [from, from_port] = split_endpoint(point.from);
    const auto [to, to_port] = split_endpoint(point.to);
    const std::int32_t rail = places.rail(from, from_port);
    if (rail != places.rail(to, to_port)) return {};  // in no level
    const auto number = [&out](const std::string& node) {
      return out.nodes_.try_emplace(node, static_cast<std::uint32_t>(out.nodes_.size()))
          .first->second;
    };
    out.keys_[point.series].push_back(key_of(number(from), number(to),
                                             static_cast<std::uint32_t>(std::max(rail, 0)),
                                             point.memory == "gpu"));
    return {};
  }));
  for (auto& [series, keys] : out.keys_) {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  }
  return out;
}

std::size_t BriefPairs::count(const PairSeries& series) const {
  const auto found = keys_.find(series);
  return found == keys_.end() ? 0 : found->second.size();
}

void BriefPairs::leave_out(const PairSeries& series, parts::NightFigures& night) const {
  const auto brief = keys_.find(series);
  if (brief == keys_.end()) return;
  std::vector<std::optional<std::uint32_t>> numbers;
  for (const parts::NightNode& node : night.nodes) {
    const auto found = nodes_.find(node.name);
    numbers.push_back(found == nodes_.end() ? std::nullopt : std::optional(found->second));
  }
  std::erase_if(night.figures, [&](const parts::Figure& figure) {
    const auto from = numbers[figure.from];
    const auto to = numbers[figure.to];
    return from && to &&
           std::ranges::binary_search(brief->second, key_of(*from, *to, figure.rail, figure.gpu));
  });
}

}  // namespace railgauge

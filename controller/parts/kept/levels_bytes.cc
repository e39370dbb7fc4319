#include "controller/parts/kept/levels_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "controller/parts/kept/part_levels.pb.h"

namespace railgauge {
namespace {

// Steps of a logarithm of 1.
constexpr double kSteps = 1e5;
constexpr double kMostSteps = 2e9;

std::int32_t steps_of(float value) {
  return static_cast<std::int32_t>(
      std::clamp(std::round(kSteps * static_cast<double>(value)), -kMostSteps, kMostSteps));
}

void put_levels(const std::vector<parts::Level>& levels, LevelList& list) {
  for (const parts::Level& level : levels) {
    list.add_loss(level.known() ? steps_of(level.loss) : 0);
    list.add_error(
        level.known() ? 1 + static_cast<std::uint32_t>(std::max(steps_of(level.error), 0)) : 0);
  }
}

// False: not `count` levels.
bool take_levels(const LevelList& list, std::size_t count, std::vector<parts::Level>& levels) {
  if (static_cast<std::size_t>(list.loss_size()) != count || list.error_size() != list.loss_size())
    return false;
  levels.resize(count);
  for (int i = 0; i < list.loss_size(); ++i)
    if (list.error(i) > 0)
      levels[static_cast<std::size_t>(i)] = {
          .loss = static_cast<float>(list.loss(i) / kSteps),
          .error = static_cast<float>((list.error(i) - 1) / kSteps)};
  return true;
}

// False: lists of pairs that do not fit, or a node or rail that is not there.
bool take_pairs(const PartLevels& kept, parts::Levels& levels) {
  const int count = kept.pair_from_size();
  if (kept.pair_to_size() != count || kept.pair_rail_size() != count ||
      kept.pair_gpu_size() != count || kept.pair_loss_size() != count)
    return false;
  const std::size_t nodes = levels.nodes.size();
  for (int i = 0; i < count; ++i) {
    levels.pairs.push_back({.from = kept.pair_from(i),
                            .to = kept.pair_to(i),
                            .rail = kept.pair_rail(i),
                            .gpu = kept.pair_gpu(i),
                            .loss = kept.pair_loss(i)});
    const parts::PairLoss& pair = levels.pairs.back();
    if (pair.from >= nodes || pair.to >= nodes || pair.rail >= levels.rails) return false;
  }
  return true;
}

// False: sizes beyond the bounds, or a leaf that is not there.
bool take_places(const PartLevels& kept, parts::Levels& levels) {
  const int count = kept.nodes_size();
  if (kept.leaf_size() != count || kept.hardware_size() != count ||
      static_cast<std::size_t>(count) > parts::kMostNodes || kept.rails() > parts::kMostRails ||
      static_cast<std::uint32_t>(kept.rail_class_size()) != kept.rails())
    return false;
  for (int i = 0; i < count; ++i) {
    if (kept.leaf(i) >= kept.leaves_size()) return false;
    levels.nodes.push_back(
        {.name = kept.nodes(i), .leaf = kept.leaf(i), .hardware = kept.hardware(i)});
  }
  levels.leaves.assign(kept.leaves().begin(), kept.leaves().end());
  levels.rail_class.assign(kept.rail_class().begin(), kept.rail_class().end());
  levels.rails = kept.rails();
  levels.has_gpu = kept.has_gpu();
  return true;
}

}  // namespace

std::string bytes_of_levels(const parts::Levels& levels) {
  PartLevels kept;
  for (const parts::NightNode& node : levels.nodes) {
    kept.add_nodes(node.name);
    kept.add_leaf(node.leaf);
    kept.add_hardware(node.hardware);
  }
  kept.mutable_leaves()->Add(levels.leaves.begin(), levels.leaves.end());
  kept.mutable_rail_class()->Add(levels.rail_class.begin(), levels.rail_class.end());
  kept.set_rails(levels.rails);
  kept.set_has_gpu(levels.has_gpu);
  put_levels(levels.ends, *kept.mutable_ends());
  put_levels(levels.centres, *kept.mutable_centres());
  put_levels(levels.blocks, *kept.mutable_blocks());
  for (const parts::PairLoss& pair : levels.pairs) {
    kept.add_pair_from(pair.from);
    kept.add_pair_to(pair.to);
    kept.add_pair_rail(pair.rail);
    kept.add_pair_gpu(pair.gpu);
    kept.add_pair_loss(pair.loss);
  }
  kept.set_figures(levels.figures);
  kept.set_noise(levels.noise);
  kept.set_largest_gain(levels.largest_gain);
  return kept.SerializeAsString();
}

Result<parts::Levels> levels_of_bytes(std::string_view bytes) {
  PartLevels kept;
  parts::Levels levels;
  const bool is_read = kept.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
                       take_places(kept, levels) && take_pairs(kept, levels);
  const std::size_t ends = 4 * levels.nodes.size() * levels.rails;
  const std::size_t leaves = levels.leaves.size();
  const std::size_t blocks = kept.blocks().loss_size() == 0 ? 0 : levels.rails * leaves * leaves;
  if (!is_read || !take_levels(kept.ends(), ends, levels.ends) ||
      !take_levels(kept.centres(), std::size_t{2} * levels.rails, levels.centres) ||
      !take_levels(kept.blocks(), blocks, levels.blocks))
    return fail(Code::kDataLoss, "the levels of parts are damaged");
  levels.figures = kept.figures();
  levels.noise = kept.noise();
  levels.largest_gain = kept.largest_gain();
  return levels;
}

}  // namespace railgauge

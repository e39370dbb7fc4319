#include "controller/parts/levels.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "controller/parts/layer_fit.h"

namespace railgauge::parts {
namespace {

// Distance in deviations from which a single figure is kept as a pair's own loss.
constexpr double kPairDeviations = 6;
// A block is taken out of the ends' figures from this loss and so many standard errors on.
constexpr float kClearLoss = 0.01F;
constexpr float kClearErrors = 5;
constexpr int kBlockPasses = 3;

// Figures whose expectation is one number: memory, inside a leaf or across, the hardware of both
// ends, the class of the rail.
using ClassKey = std::tuple<std::int32_t, bool, std::int32_t, std::int32_t, std::int32_t>;

// Checks the indices of a night.
Status check(const NightFigures& night) {
  if (night.nodes.size() > kMostNodes)
    return fail(Code::kInvalidArgument, fmt::format("a night of {} nodes: at most {} are judged",
                                                    night.nodes.size(), kMostNodes));
  for (const NightNode& node : night.nodes)
    if (node.leaf >= static_cast<std::int32_t>(night.leaves.size()))
      return fail(Code::kInvalidArgument, fmt::format("node {}: no such leaf", node.name));
  for (const Figure& figure : night.figures)
    if (figure.from >= night.nodes.size() || figure.to >= night.nodes.size() ||
        figure.rail >= kMostRails)
      return fail(Code::kInvalidArgument,
                  fmt::format("a figure from node {} to node {} on rail {}: out of range",
                              figure.from, figure.to, figure.rail));
  return {};
}

// Why a figure is no measurement; "": it is one.
std::string_view doubt_of(const Figure& figure) {
  if (!std::isfinite(figure.value)) return "not a finite number";
  if (figure.value <= 0) return "not above 0";
  if (figure.from == figure.to) return "from a node to itself";
  return "";
}

// The figures of a night as losses by layer. `number` of a loss: the index of its figure.
struct Sorted {
  std::uint32_t rails = 0;
  bool has_gpu = false;
  // By memory, rail.
  std::vector<LayerLosses> layers{};
  std::uint64_t figures = 0;
  std::vector<std::string> left_out{};
};

bool is_across(const NightFigures& night, const Figure& figure) {
  const std::int32_t from = night.nodes[figure.from].leaf;
  return from < 0 || from != night.nodes[figure.to].leaf;
}

ClassKey key_of_class(const NightFigures& night, const Figure& figure) {
  const std::int32_t a = night.nodes[figure.from].hardware;
  const std::int32_t b = night.nodes[figure.to].hardware;
  const std::int32_t rail =
      figure.rail < night.rail_class.size() ? night.rail_class[figure.rail] : 0;
  return {figure.gpu ? 2 : 1, is_across(night, figure), std::min(a, b), std::max(a, b), rail};
}

// The logarithms of the figures by class, so that each class's centre can be taken away.
class Classes {
 public:
  explicit Classes(const NightFigures& night) : night_(night) {}
  // Returns the number of the figure's class.
  std::size_t of(const Figure& figure) {
    const ClassKey key = key_of_class(night_, figure);
    for (const auto& [known, number] : last_)
      if (known == key) return number;
    const std::size_t number = numbers_.try_emplace(key, numbers_.size()).first->second;
    last_[next_++ % last_.size()] = {key, number};
    return number;
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }

 private:
  const NightFigures& night_;
  std::map<ClassKey, std::size_t> numbers_{};
  // The classes of the last figures; neighbours are alike. Memory 0 is none.
  std::array<std::pair<ClassKey, std::size_t>, 4> last_{};
  std::size_t next_ = 0;
};

// Takes the usable figures as losses against the medians of their classes.
Sorted sort_figures(const NightFigures& night) {
  Sorted sorted;
  bool any_host = false;
  std::map<std::string_view, std::size_t> doubts;
  for (const Figure& figure : night.figures) {
    if (const std::string_view doubt = doubt_of(figure); !doubt.empty()) {
      ++doubts[doubt];
      continue;
    }
    ++sorted.figures;
    sorted.rails = std::max(sorted.rails, figure.rail + 1);
    (figure.gpu ? sorted.has_gpu : any_host) = true;
  }
  for (const auto& [doubt, count] : doubts)
    sorted.left_out.push_back(fmt::format("{} figures are left out: {}", count, doubt));
  // GPU memory alone says the same of ports as host memory alone.
  const bool gpu_is_base = !any_host;
  sorted.has_gpu = sorted.has_gpu && any_host;
  Classes classes(night);
  std::vector<std::vector<float>> logs;
  std::vector<std::uint32_t> class_of_figure;
  class_of_figure.reserve(night.figures.size());
  for (const Figure& figure : night.figures) {
    class_of_figure.push_back(0);
    if (!doubt_of(figure).empty()) continue;
    class_of_figure.back() = static_cast<std::uint32_t>(classes.of(figure));
    logs.resize(classes.size());
    logs[class_of_figure.back()].push_back(std::log(static_cast<float>(figure.value)));
  }
  std::vector<std::size_t> next(logs.size(), 0);
  std::vector<float> centres;
  for (const std::vector<float>& one : logs) {
    std::vector<float> copy = one;
    centres.push_back(middle_of(copy));
  }
  sorted.layers.resize(static_cast<std::size_t>(2) * sorted.rails);
  for (std::size_t i = 0; i < night.figures.size(); ++i) {
    const Figure& figure = night.figures[i];
    if (!doubt_of(figure).empty()) continue;
    const std::uint32_t own = class_of_figure[i];
    const float away = logs[own][next[own]++] - centres[own];
    const std::size_t memory = figure.gpu && !gpu_is_base ? 1 : 0;
    LayerLosses& layer = sorted.layers[memory * sorted.rails + figure.rail];
    layer.from.push_back(figure.from);
    layer.to.push_back(figure.to);
    layer.loss.push_back(night.larger_is_better ? -away : away);
  }
  return sorted;
}

// Losses by pair of leaves, for the means of blocks.
class Blocks {
 public:
  Blocks(const NightFigures& night, const LayerLosses& losses, const LayerFit& fit)
      : leaves_(night.leaves.size()), begin_(leaves_ * leaves_ + 1, 0) {
    std::vector<std::size_t> of(losses.loss.size(), begin_.size());
    for (std::size_t i = 0; i < losses.loss.size(); ++i) {
      const std::int32_t a = night.nodes[losses.from[i]].leaf;
      const std::int32_t b = night.nodes[losses.to[i]].leaf;
      if (a < 0 || b < 0) continue;
      of[i] = static_cast<std::size_t>(a) * leaves_ + static_cast<std::size_t>(b);
      ++begin_[of[i] + 1];
    }
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    losses_.resize(begin_.back());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t i = 0; i < losses.loss.size(); ++i) {
      if (of[i] == begin_.size()) continue;
      const bool inside = of[i] / leaves_ == of[i] % leaves_;
      losses_[next[of[i]]++] = inside ? losses.loss[i] - fit.centre.loss : fit.left_over[i];
    }
  }
  [[nodiscard]] Level level(std::size_t block, double scale) const {
    return huber_mean(losses_.data() + begin_[block], begin_[block + 1] - begin_[block], scale);
  }

 private:
  std::size_t leaves_;
  std::vector<std::size_t> begin_;
  std::vector<float> losses_{};
};

// Keeps what single pairs lost beyond their ends and their leaves.
void keep_pairs(const LayerLosses& losses, const LayerFit& fit, const PairLoss& like,
                Levels& levels) {
  const double least = std::max(kPairLoss, kPairDeviations * fit.scale);
  for (std::size_t i = 0; i < losses.loss.size(); ++i) {
    const double loss = fit.left_over[i];
    levels.largest_gain = std::max(levels.largest_gain, -loss);
    if (loss < least) continue;
    PairLoss pair = like;
    pair.from = losses.from[i];
    pair.to = losses.to[i];
    pair.loss = fit.left_over[i];
    levels.pairs.push_back(pair);
  }
}

// The fit of a layer in which slow links between leaves are no part of the ends' levels.
struct BlockFit {
  LayerFit fit{};
  // By pair of leaves; empty: there are too few leaves.
  std::vector<Level> blocks{};
};

// Takes clear losses of blocks out of the figures and fits again: the ends of a slow block would
// else take a part of its loss, a large part where leaves are few.
BlockFit fit_with_blocks(const NightFigures& night, LayerLosses losses, bool has_blocks) {
  BlockFit found{.fit = fit_layer(losses, night.nodes.size())};
  if (!has_blocks) return found;
  const std::size_t leaves = night.leaves.size();
  std::vector<float> taken(leaves * leaves, 0);
  for (int pass = 0;; ++pass) {
    const Blocks blocks(night, losses, found.fit);
    found.blocks.assign(leaves * leaves, {});
    std::vector<float> clear(leaves * leaves, 0);
    bool any = false;
    for (std::size_t block = 0; block < found.blocks.size(); ++block) {
      Level& level = found.blocks[block];
      level = blocks.level(block, found.fit.scale);
      if (!level.known()) continue;
      const bool inside = block / leaves == block % leaves;
      if (!inside && level.loss > kClearErrors * level.error && level.loss > kClearLoss)
        clear[block] = level.loss;
      any = any || clear[block] > 0;
      level.loss += taken[block];
    }
    if (!any || pass == kBlockPasses) return found;
    for (std::size_t block = 0; block < clear.size(); ++block) taken[block] += clear[block];
    for (std::size_t i = 0; i < losses.loss.size(); ++i) {
      const std::int32_t a = night.nodes[losses.from[i]].leaf;
      const std::int32_t b = night.nodes[losses.to[i]].leaf;
      if (a >= 0 && b >= 0)
        losses.loss[i] -= clear[static_cast<std::size_t>(a) * leaves + static_cast<std::size_t>(b)];
    }
    found.fit = fit_layer(losses, night.nodes.size());
  }
}

// Fits one layer and stores its levels.
void add_layer(const NightFigures& night, const LayerLosses& losses, Memory memory,
               std::uint32_t rail, Levels& levels) {
  if (losses.loss.empty()) return;
  const BlockFit found = fit_with_blocks(night, losses, night.leaves.size() > 2);
  const LayerFit& fit = found.fit;
  levels.noise = std::max(levels.noise, fit.scale);
  const std::size_t n = night.nodes.size();
  const auto m = static_cast<std::size_t>(memory);
  levels.centres[m * levels.rails + rail] = fit.centre;
  for (std::size_t node = 0; node < n; ++node) {
    levels.ends[((m * 2) * n + node) * levels.rails + rail] = fit.sends[node];
    levels.ends[((m * 2 + 1) * n + node) * levels.rails + rail] = fit.receives[node];
  }
  if (memory == Memory::kBase)
    std::ranges::copy(found.blocks, levels.blocks.begin() +
                                        static_cast<std::ptrdiff_t>(rail * found.blocks.size()));
  keep_pairs(losses, fit, {.rail = rail, .gpu = memory == Memory::kGpu}, levels);
}

}  // namespace

Result<Levels> levels_of(const NightFigures& night) {
  RG_TRY_OK(check(night));
  Sorted sorted = sort_figures(night);
  if (sorted.figures == 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("a night of {} figures: none is a measurement of a pair",
                            night.figures.size()));
  Levels levels{.nodes = night.nodes,
                .leaves = night.leaves,
                .rail_class = night.rail_class,
                .rails = sorted.rails,
                .has_gpu = sorted.has_gpu,
                .figures = sorted.figures,
                .left_out = std::move(sorted.left_out)};
  const std::size_t n = night.nodes.size();
  levels.ends.resize(4 * n * levels.rails);
  levels.centres.resize(static_cast<std::size_t>(2) * levels.rails);
  levels.rail_class.resize(levels.rails, 0);
  // With two leaves, the links between them and the leaves are the same figures.
  if (night.leaves.size() > 2)
    levels.blocks.resize(levels.rails * night.leaves.size() * night.leaves.size());
  for (std::uint32_t rail = 0; rail < levels.rails; ++rail) {
    add_layer(night, sorted.layers[rail], Memory::kBase, rail, levels);
    if (levels.has_gpu)
      add_layer(night, sorted.layers[levels.rails + rail], Memory::kGpu, rail, levels);
  }
  std::ranges::sort(levels.pairs, [](const PairLoss& a, const PairLoss& b) {
    return std::tie(b.loss, a.from, a.to, a.rail, a.gpu) <
           std::tie(a.loss, b.from, b.to, b.rail, b.gpu);
  });
  if (levels.pairs.size() > kMostPairLosses) levels.pairs.resize(kMostPairLosses);
  return levels;
}

}  // namespace railgauge::parts

#include "controller/parts/slow_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace railgauge::parts {
namespace {

// Distinct slow partners from which on a port, not its pairs, is suspected.
constexpr std::size_t kHubPartners = 4;
constexpr std::size_t kMostSlowPairs = 16;
constexpr std::size_t kMostFarPaths = 4;
// Figures of a path count from this share of its worst one on; others are its noise.
constexpr double kOfWorst = 0.5;
// Expected false pairs of a night, at most.
constexpr double kFalsePairs = 0.001;
// Figures of two nodes on a night: rails, both ways, two kinds of memory.
constexpr double kFiguresOfPath = 32;
// Figures of nearly the same loss count as equal.
constexpr double kNearly = 0.8;
// One figure alone is believed when every other one, better or worse, is nearer than this share.
constexpr double kGap = 0.6;

// Two nodes by name, the lesser first, so that nights with other numbers compare.
using PathKey = std::pair<std::string, std::string>;

struct Path {
  std::vector<PairLoss> figures{};
  // Slow figures of the nights before the last that are nearly as slow.
  std::size_t earlier = 0;
  // Nights that show it, the last one included.
  std::size_t visits = 1;
};

PathKey key_of(const Levels& levels, const PairLoss& pair) {
  const std::string& a = levels.nodes[pair.from].name;
  const std::string& b = levels.nodes[pair.to].name;
  return a < b ? PathKey{a, b} : PathKey{b, a};
}

// The ports that have several slow partners.
std::set<std::pair<std::uint32_t, std::uint32_t>> hubs_of(const Levels& levels) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> partners;
  for (const PairLoss& pair : levels.pairs) {
    partners[{pair.from, pair.rail}].insert(pair.to);
    partners[{pair.to, pair.rail}].insert(pair.from);
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> hubs;
  for (const auto& [port, others] : partners)
    if (others.size() >= kHubPartners) hubs.insert(port);
  return hubs;
}

localise::Element element_of(const Path& path) {
  const PairLoss& first = path.figures.front();
  localise::Element element{.kind = localise::Kind::kPair,
                            .first = static_cast<std::int32_t>(first.from),
                            .second = static_cast<std::int32_t>(first.to),
                            .rail = static_cast<std::int32_t>(first.rail),
                            .direction = localise::Direction::kSends};
  for (const PairLoss& figure : path.figures) {
    if (figure.rail != first.rail) element.rail = -1;
    if (figure.from != first.from) element.direction = localise::Direction::kBoth;
  }
  if (element.direction == localise::Direction::kBoth && element.first > element.second)
    std::swap(element.first, element.second);
  return element;
}

double least_of(const Path& path) {
  double least = path.figures.front().loss;
  for (const PairLoss& figure : path.figures)
    least = std::min(least, static_cast<double>(figure.loss));
  return least;
}

double mean_loss(const Path& path) {
  double sum = 0;
  for (const PairLoss& figure : path.figures) sum += static_cast<double>(figure.loss);
  return sum / static_cast<double>(path.figures.size());
}

// The tails of single figures over the nights: how many are at least so slow, and the largest
// distance, each without those of one path.
class Tails {
 public:
  explicit Tails(std::span<const Levels* const> nights) {
    for (const Levels* night : nights) {
      figures_ += static_cast<double>(night->figures);
      gain_ = std::max(gain_, night->largest_gain);
      for (const PairLoss& pair : night->pairs) all_[key_of(*night, pair)].push_back(pair.loss);
      if (night->pairs.size() == kMostPairLosses)
        cut_ = std::max(cut_, static_cast<double>(night->pairs.back().loss));
    }
    for (const auto& [key, losses] : all_)
      sorted_.insert(sorted_.end(), losses.begin(), losses.end());
    std::ranges::sort(sorted_);
  }
  [[nodiscard]] double count(double least, const PathKey& without) const {
    const auto above = std::ranges::lower_bound(sorted_, static_cast<float>(least));
    const auto own = std::ranges::count_if(
        all_.at(without), [least](float loss) { return loss >= static_cast<float>(least); });
    return static_cast<double>(sorted_.end() - above - own);
  }
  // The largest distance of a figure, better or worse, outside these paths.
  [[nodiscard]] double largest(const std::set<PathKey>& without) const {
    double largest = gain_;
    for (const auto& [key, losses] : all_)
      if (!without.contains(key))
        for (const float loss : losses) largest = std::max(largest, static_cast<double>(loss));
    return largest;
  }
  [[nodiscard]] double figures() const { return figures_; }
  // Smaller losses were not kept on each night, so that they cannot be counted.
  [[nodiscard]] double cut() const { return cut_; }

 private:
  std::map<PathKey, std::vector<float>> all_{};
  std::vector<float> sorted_{};
  double figures_ = 0;
  double gain_ = 0;
  double cut_ = 0;
};

// Expected number of healthy paths with as many figures of at least this loss, by the share of such
// figures, as if they fell on paths by chance.
double expected_false(const Tails& tails, const PathKey& key, const Path& path, double figures) {
  if (kNearly * least_of(path) < tails.cut()) return figures;
  const double share =
      (tails.count(kNearly * least_of(path), key) + 1) / std::max(1.0, tails.figures());
  const auto seen = static_cast<double>(path.figures.size() + path.earlier);
  const double mean = kFiguresOfPath * static_cast<double>(path.visits) * share;
  // The first term of Poisson's tail.
  double chance = 1;
  for (double i = 1; i <= seen; ++i) chance *= mean / i;
  return figures / kFiguresOfPath * chance;
}

}  // namespace

std::vector<SlowPair> slow_pairs(std::span<const Levels* const> nights,
                                 const std::function<bool(const PairLoss&)>& is_explained) {
  const Levels& last = *nights.back();
  const auto hubs = hubs_of(last);
  std::map<PathKey, Path> paths;
  for (const PairLoss& pair : last.pairs)
    if (!is_explained(pair) && !hubs.contains({pair.from, pair.rail}) &&
        !hubs.contains({pair.to, pair.rail}))
      paths[key_of(last, pair)].figures.push_back(pair);
  for (auto& [key, path] : paths) {
    const float worst = std::ranges::max(path.figures, {}, &PairLoss::loss).loss;
    std::erase_if(path.figures, [worst](const PairLoss& figure) {
      return static_cast<double>(figure.loss) < kOfWorst * static_cast<double>(worst);
    });
  }
  for (const Levels* night : nights.first(nights.size() - 1)) {
    std::set<PathKey> seen;
    for (const PairLoss& pair : night->pairs) {
      const auto path = paths.find(key_of(*night, pair));
      if (path == paths.end()) continue;
      if (static_cast<double>(pair.loss) < kNearly * least_of(path->second)) continue;
      ++path->second.earlier;
      path->second.visits += seen.insert(path->first).second ? 1 : 0;
    }
  }
  const Tails tails(nights);
  std::set<PathKey> far;
  for (const auto& [key, path] : paths)
    if (least_of(path) >= kHalf) far.insert(key);
  // Many far figures on one night are the noise of this site.
  if (far.size() > kMostFarPaths) far.clear();
  const double rest = tails.largest(far);
  std::vector<SlowPair> found;
  for (const auto& [key, path] : paths) {
    const double loss = mean_loss(path);
    const bool alone = far.contains(key) && rest < kGap * least_of(path);
    const bool often =
        path.figures.size() + path.earlier > 1 &&
        expected_false(tails, key, path, static_cast<double>(last.figures)) < kFalsePairs;
    if (!alone && !often && !far.contains(key)) continue;
    found.push_back({.element = element_of(path),
                     .loss = loss,
                     .confirmed = alone || often,
                     .figures = path.figures.size(),
                     .nights = path.visits});
  }
  std::ranges::sort(found, [](const SlowPair& a, const SlowPair& b) {
    return std::tuple(!a.confirmed, -a.loss, a.element.first, a.element.second) <
           std::tuple(!b.confirmed, -b.loss, b.element.first, b.element.second);
  });
  if (found.size() > kMostSlowPairs) found.resize(kMostSlowPairs);
  return found;
}

}  // namespace railgauge::parts

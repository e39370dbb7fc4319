// The counts of overlap_of(), compared with simulated streams whose truth is known: together or by
// turns, at even and at random speeds.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "kernels/cuda/route/plan.h"

namespace railgauge::cuda {
namespace {

constexpr double kRounding = 1e-9;
constexpr int kSeeds = 200;

enum class Order { kTogether, kShared, kByTurns, kAtRandom };

struct Scene {
  Order order = Order::kTogether;  // each stream at its own speed
  std::vector<double> speeds;      // of each stream, bytes per ns where it has all it needs
  std::size_t marks = 4;
  double bytes_between = 1000;
  double unevenness = 0;  // of each copy's speed, a share to either side
};

// Streams whose copies move piece by piece, and how many bytes all of them had moved at any time.
class Simulation {
 public:
  Simulation(const Scene& scene, unsigned seed) : scene_(scene), random_(seed) {
    const std::size_t count = scene.speeds.size();
    left_.assign(count, scene.bytes_between);
    factors_.assign(count, 1);
    for (double& factor : factors_) factor = next_factor();
    marks_.assign(count, Marks{{}, scene.bytes_between});
    while (step()) {
    }
  }
  [[nodiscard]] const std::vector<Marks>& marks() const { return marks_; }
  [[nodiscard]] double first_end_ns() const {
    double first = std::numeric_limits<double>::infinity();
    for (const Marks& stream : marks_) first = std::min(first, stream.ns.back());
    return first;
  }
  [[nodiscard]] double moved_until(double ns) const {
    double moved = 0;
    double before = 0;
    for (const auto& [until_ns, bytes] : pieces_) {
      if (until_ns >= ns) return moved + bytes * (ns - before) / (until_ns - before);
      moved += bytes;
      before = until_ns;
    }
    return moved;
  }

 private:
  double next_factor() {
    return 1 + scene_.unevenness * std::uniform_real_distribution(-1.0, 1.0)(random_);
  }
  // Returns the speed at which each stream moves now.
  std::vector<double> speeds() {
    std::vector<double> out(left_.size(), 0);
    std::vector<std::size_t> busy;
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (marks_[i].ns.size() < scene_.marks) busy.push_back(i);
    if (busy.empty()) return out;
    if (scene_.order == Order::kByTurns || scene_.order == Order::kAtRandom) {
      if (std::ranges::find(busy, turn_) == busy.end() || left_[turn_] == scene_.bytes_between) {
        const auto after = std::ranges::upper_bound(busy, last_turn_);
        turn_ = scene_.order == Order::kAtRandom ? busy[random_() % busy.size()]
                : after == busy.end()            ? busy.front()
                                                 : *after;
        last_turn_ = static_cast<long>(turn_);
      }
      out[turn_] = scene_.speeds[turn_] * factors_[turn_];
      return out;
    }
    double all = 0;
    for (const std::size_t i : busy) all += out[i] = scene_.speeds[i] * factors_[i];
    if (scene_.order == Order::kShared)  // a link of one byte per ns between them
      for (double& speed : out) speed /= all;
    return out;
  }
  // To the end of the copy that ends next.
  bool step() {
    const std::vector<double> now = speeds();
    double next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] > 0) next = std::min(next, left_[i] / now[i]);
    if (next == std::numeric_limits<double>::infinity()) return false;
    ns_ += next;
    double moved = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double bytes = std::min(left_[i], now[i] * next);
      moved += bytes;
      left_[i] -= bytes;
      if (now[i] == 0 || left_[i] > kRounding * scene_.bytes_between) continue;
      marks_[i].ns.push_back(ns_);
      left_[i] = scene_.bytes_between;
      factors_[i] = next_factor();
    }
    pieces_.emplace_back(ns_, moved);
    return true;
  }

  Scene scene_;
  std::mt19937 random_;
  std::vector<double> left_;     // of the copy that each stream is at
  std::vector<double> factors_;  // of its speed
  std::vector<Marks> marks_;
  std::vector<std::pair<double, double>> pieces_;  // until when, how many bytes
  std::size_t turn_ = 0;
  long last_turn_ = -1;
  double ns_ = 0;
};

Scene scene_of(Order order, unsigned seed) {
  std::mt19937 random(seed * 7919 + static_cast<unsigned>(order));
  std::uniform_real_distribution speed(1.0, 4.0);
  Scene scene{.order = order, .speeds = std::vector<double>(2 + random() % 6)};
  for (double& each : scene.speeds) each = speed(random);
  scene.marks = 2 + random() % 7;
  scene.unevenness = 0.2;
  return scene;
}

class EachOrder : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(Orders, EachOrder,
                         ::testing::Values(Order::kTogether, Order::kShared, Order::kByTurns,
                                           Order::kAtRandom));

TEST_P(EachOrder, NeverCountsMoreThanHadMoved) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Simulation truth(scene_of(GetParam(), seed), seed);
    const Overlap overlap = overlap_of(truth.marks());
    EXPECT_GE(overlap.ns, truth.first_end_ns() / 2);
    EXPECT_LE(overlap.bytes, truth.moved_until(overlap.ns) * (1 + kRounding));
  }
}

TEST_P(EachOrder, LosesLessThanAMarkOfEachStreamButOne) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Scene scene = scene_of(GetParam(), seed);
    const Simulation truth(scene, seed);
    const Overlap overlap = overlap_of(truth.marks());
    const double most_lost = static_cast<double>(scene.speeds.size() - 1) * scene.bytes_between;
    EXPECT_GE(overlap.bytes + most_lost * (1 + kRounding), truth.moved_until(overlap.ns));
  }
}

// A stream that ends gives the others no more than it had itself.
TEST_P(EachOrder, IsNeverFasterThanWhileAllAreAtWork) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Scene scene = scene_of(GetParam(), seed);
    scene.unevenness = 0;
    if (GetParam() == Order::kByTurns || GetParam() == Order::kAtRandom)
      scene.speeds.assign(scene.speeds.size(), 1);
    const Simulation truth(scene, seed);
    const double all_ns = truth.first_end_ns();
    const double rate = overlap_of(truth.marks()).rate();
    EXPECT_LE(rate, truth.moved_until(all_ns) / (all_ns / 1e9) * (1 + kRounding)) << seed;
  }
}

// Seven flows of one of eight GPUs that run one whole launch after another, simulated: counted in
// proportion between marks they would be 37 % too many.
TEST(Overlap, OfStreamsThatTakeTurnsIsExact) {
  for (const Order order : {Order::kByTurns, Order::kAtRandom})
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      const Simulation truth({.order = order, .speeds = std::vector<double>(7, 1)}, seed);
      EXPECT_NEAR(overlap_of(truth.marks()).rate(), 1e9, kRounding * 1e9) << seed;
    }
}

// One link bounds them, and its parts are never alike.
TEST(Overlap, OfStreamsThatShareALinkIsExact) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Simulation truth(scene_of(Order::kShared, seed), seed);
    EXPECT_NEAR(overlap_of(truth.marks()).rate(), 1e9, kRounding * 1e9) << seed;
  }
}

// Copies between like GPUs: each copy's speed is a percent off at most.
TEST(Overlap, OfStreamsThatKeepStepLosesTheirSpread) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const Simulation truth({.speeds = std::vector<double>(7, 1), .unevenness = 0.01}, seed);
    EXPECT_GE(overlap_of(truth.marks()).rate(), 0.99 * 7e9) << seed;
    EXPECT_LE(ended_apart(truth.marks()), 0.02) << seed;
  }
}

// Each over a link of its own, one up to four times as fast as another: all of them at the slowest
// one's speed is what the time of the whole would give.
TEST(Overlap, OfLinksThatDifferIsNeverBelowTheSlowestOnes) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Scene scene = scene_of(Order::kTogether, seed);
    scene.unevenness = 0;
    const double slowest = *std::ranges::min_element(scene.speeds);
    const Simulation truth(scene, seed);
    EXPECT_GE(overlap_of(truth.marks()).rate(),
              static_cast<double>(scene.speeds.size()) * slowest * 1e9 * (1 - kRounding))
        << seed;
  }
}

TEST(Overlap, TellsWhatItLosesOfStreamsThatDoNotKeepStep) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Scene scene = scene_of(Order::kTogether, seed);
    scene.unevenness = 0;
    const Simulation truth(scene, seed);
    const Overlap overlap = overlap_of(truth.marks());
    EXPECT_NEAR(overlap.bytes, overlap.counted_share() * truth.moved_until(overlap.ns),
                1e-6 * overlap.bytes)
        << seed;
  }
}

// The second stream is alone for its last 20 ns: those bytes would flatter the sum.
TEST(Overlap, EndsBeforeAnyStreamIsAlone) {
  const Overlap overlap = overlap_of(std::vector<Marks>{{{10, 20}, 100}, {{20, 40}, 100}});
  EXPECT_DOUBLE_EQ(overlap.ns, 20);
  EXPECT_DOUBLE_EQ(overlap.bytes, 300);
  EXPECT_DOUBLE_EQ(overlap.counted_share(), 1);
}

TEST(Overlap, OfOneStreamIsAllOfIt) {
  EXPECT_DOUBLE_EQ(overlap_of(std::vector<Marks>{{{10, 20}, 100}}).rate(), 200 / 20e-9);
}

}  // namespace
}  // namespace railgauge::cuda

#include "controller/sim/chance.h"

#include <limits>

namespace railgauge::simulator {
namespace {

// Its table is made once.
const Normal& normal() {
  static const Normal kNormal;
  return kNormal;
}

Draw draw_with(const Normal& bell, Random& random, const FabricSpec& spec, bool is_across,
               bool is_flapping) {
  Draw one;
  // A flow is a task's own: its port number is another one each time.
  if (is_across) one.path = static_cast<std::uint16_t>(random.below(spec.spines));
  if (is_flapping && random.below(2) == 0) one.path |= kSlowTask;
  one.factor = 1 + static_cast<float>(spec.noise) * bell(random);
  return one;
}

}  // namespace

Draw draw(Random& random, const FabricSpec& spec, bool is_across, bool is_flapping) {
  return draw_with(normal(), random, spec, is_across, is_flapping);
}

bool Chance::prepare(Random& random, const FabricSpec& spec, const Flapping& flapping) {
  if (random == begin_ && spec == spec_ && flapping == flapping_) {
    random = end_;
    return false;
  }
  spec_ = spec;
  flapping_ = flapping;
  begin_ = random;
  const std::size_t n = spec.nodes;
  const Normal& bell = normal();
  layers_.resize(flapping.size());
  Random numbers = random;  // kept in a register
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    LayerChance& layer = layers_[l];
    layer.factors.resize(n * n);
    layer.paths.resize(n * n);
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to) {
        Draw one{.factor = std::numeric_limits<float>::quiet_NaN()};
        if (from != to)
          one =
              draw_with(bell, numbers, spec, from / spec.nodes_per_leaf != to / spec.nodes_per_leaf,
                        flapping[l][from] != 0 || flapping[l][to] != 0);
        layer.factors[from * n + to] = one.factor;
        layer.paths[from * n + to] = one.path;
      }
  }
  random = end_ = numbers;
  return true;
}

}  // namespace railgauge::simulator

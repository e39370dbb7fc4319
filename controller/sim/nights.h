// Model of a site night by night: slices of all pairs on several rails, from host and GPU memory,
// with noise of several kinds and with faults. Gives figures of pairs, which is all that a judge
// may see. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/parts/night_figures.h"
#include "controller/sim/random.h"

namespace railgauge::simulator {

// Families of noise of a single figure; all have the deviation of the spec, unless said.
enum class NoiseFamily {
  kNormal,
  // One figure of 20 has a deviation four times as large as the others.
  kHeavy,
  // Losses have a long tail, gains none.
  kSkewed,
  // A figure is in one of two modes, a third of them in the lower.
  kTwoModes,
  // One figure of 50 loses up to half, beside the noise.
  kSpikes,
  // All figures get worse by a tenth of the noise a night, beside the noise.
  kDrift,
  // Figures are rounded to steps of twice the noise.
  kQuantised,
  // Figures of half of the rounds are lower by twice the noise, beside the noise.
  kDayNight,
};
inline constexpr int kNoiseFamilies = 8;
std::string_view noise_word(NoiseFamily family);

// A modelled site. Equal specs give equal figures.
struct SiteSpec {
  std::uint32_t nodes = 512;
  std::uint32_t rails = 8;
  std::uint32_t nodes_per_leaf = 16;
  bool gpu_memory = true;
  // A night measures this part of all pairs: a seventh.
  std::uint32_t slices = 7;
  NoiseFamily family = NoiseFamily::kHeavy;
  // Standard deviation of a figure, as a share.
  double noise = 0.01;
  // Shares of the variance: common to a leaf's figures of a round, and of a night.
  double round_share = 0.3;
  double night_share = 0.05;
  // Deviation of the standing differences between ports.
  double spread = 0.003;
  std::uint64_t seed = 1;
};

// A fault of one part, as localise::Element names it; numbers are those of nodes and leaves.
struct SiteFault {
  localise::Element element{};
  double drop = 0;
  // 1: every night; 3: one night of three, beginning with the first.
  std::uint32_t every = 1;
};

// Not thread safe.
class Site {
 public:
  explicit Site(const SiteSpec& spec);
  // The figures of one night, in the memory of the last call. `since`: the night on which the
  // faults begin. The chance of the last night that was asked for is kept.
  const parts::NightFigures& night(std::uint32_t number, std::span<const SiteFault> faults = {},
                                   std::uint32_t since = 0);
  [[nodiscard]] const SiteSpec& spec() const { return spec_; }
  [[nodiscard]] std::uint32_t leaves() const {
    return static_cast<std::uint32_t>(night_.leaves.size());
  }
  // Whether the night measures the pair.
  [[nodiscard]] bool measures(std::uint32_t number, std::uint32_t a, std::uint32_t b) const;

 private:
  // Draws the healthy figures of a night.
  void draw(std::uint32_t number);
  // The share of bandwidth that faults leave to a figure.
  [[nodiscard]] double left_by(std::span<const SiteFault> faults,
                               const parts::Figure& figure) const;
  // The random factor of one figure, as a logarithm.
  [[nodiscard]] double draw_noise(Random& random, double own) const;
  [[nodiscard]] bool concerns(const localise::Element& element, const parts::Figure& figure) const;

  SiteSpec spec_;
  parts::NightFigures night_{};
  // Healthy figures of the night `drawn_` (one more than its number; 0: none).
  std::vector<double> healthy_{};
  std::uint32_t drawn_ = 0;
  // By side, node, rail: standing difference, as a logarithm.
  std::vector<float> standing_{};
  // By round: the night that measures it.
  std::vector<std::uint32_t> slice_of_{};
};

}  // namespace railgauge::simulator

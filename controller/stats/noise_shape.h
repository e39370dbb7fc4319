// The shape of a series' noise, so that a person knows how far to trust a change of it. Pure;
// thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace railgauge::analysis {

enum class NoiseShape : std::uint8_t {
  kOk,        // none of the others
  kModal,     // two levels, with a gap between them
  kOutliers,  // some figures far from the others
  kSkewed     // a longer tail to one side
};
inline constexpr std::array<std::string_view, 4> kNoiseTexts{"ok", "modal", "outliers", "skewed"};
constexpr std::string_view word(NoiseShape shape) {
  return kNoiseTexts.at(static_cast<std::size_t>(shape));
}

// The shape of the figures of one level. The first rule that holds decides:
// - modal: cut at the widest gap that has a fifth of the figures or more on each side, the means of
//   both groups are 4.5 standard deviations apart or more (the root of their mean variance; Ashman,
//   Bird and Zepf, Astronomical Journal 108, 1994, with another bound);
// - outliers: a figure is farther than 5 standard deviations from the median, by the median
//   absolute deviation and 0.05 % of the median at least;
// - skewed: the quantile skewness of the tenths (Hinkley, Biometrika 62, 1975), in [-1, 1], is
//   beyond 0.45. It needs kLeastForSkew figures.
// One series of normal noise in twenty has another shape than ok; with fewer than 15 figures one in
// ten. Absent: fewer than kLeastForNoise figures, or one that is not finite.
inline constexpr std::size_t kLeastForNoise = 12;
inline constexpr std::size_t kLeastForSkew = 20;
std::optional<NoiseShape> noise_shape(std::span<const double> figures);

}  // namespace railgauge::analysis

// A matrix of pairs as a picture: letters for a terminal, rectangles for a file. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/api/archive.pb.h"

namespace railgauge::cli {

// Distance of a figure from that of most pairs of its class (inside a leaf, across leaves).
enum class Heat { kMissing, kBetter, kUsual, kLower, kLow, kBad, kWorst };

// The matrix in the order of drawing, with the expected figure of each cell.
struct HeatGrid {
  std::vector<std::string> nodes{};   // by leaf, then by name
  std::vector<std::string> leaves{};  // of them
  std::vector<double> values{};       // from-major; 0: not measured
  std::vector<double> expected{};     // likewise; 0: nothing of that class was measured
  [[nodiscard]] Heat heat(std::size_t from, std::size_t to) const;
  bool larger_is_better = true;
};
HeatGrid grid_of(const api::PairMatrix& matrix);

// A row a sender, a letter a receiver; beyond kMostLetters nodes a letter is the worst of several.
// On a terminal that cuts tables it is so beyond kMostLettersOfScreen.
inline constexpr std::size_t kMostLetters = 128;
inline constexpr std::size_t kMostLettersOfScreen = 47;
std::string heat_text(const HeatGrid& grid, bool colour);

// The same as an SVG file of its own, with `title` above.
inline constexpr std::size_t kMostRectangles = 512;  // a side
std::string heat_svg(const HeatGrid& grid, const std::string& title,
                     std::size_t most_rectangles = kMostRectangles);

}  // namespace railgauge::cli

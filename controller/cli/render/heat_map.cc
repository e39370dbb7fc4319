#include "controller/cli/render/heat_map.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "controller/cli/render/output.h"
#include "controller/cli/render/table.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kMostNameBytes = 26;

// How one class of figures is drawn.
struct Look {
  char letter;
  const char* fill;  // blue is good, red is bad: distinct for colour-blind people too
  Tone tone;
  const char* words;
};

// By Heat.
constexpr std::array<Look, 7> kLooks{
    Look{' ', "#bdbdbd", Tone::kPlain, "not measured"},
    Look{'+', "#2166ac", Tone::kGood, "more than 3 % better than expected"},
    Look{'.', "#d1e5f0", Tone::kPlain, "within 3 %"},
    Look{'-', "#fddbc7", Tone::kPlain, "3 to 7 % worse"},
    Look{'=', "#f4a582", Tone::kDoubtful, "7 to 15 % worse"},
    Look{'#', "#d6604d", Tone::kBad, "15 to 30 % worse"},
    Look{'@', "#b2182b", Tone::kBad, "more than 30 % worse"}};

const Look& look_of(Heat heat) { return kLooks[static_cast<std::size_t>(heat)]; }

// The worst of a block of figures; missing only where all are.
Heat worst(const HeatGrid& grid, std::size_t row, std::size_t column, std::size_t block) {
  const std::size_t n = grid.nodes.size();
  Heat heat = Heat::kMissing;
  for (std::size_t from = row * block; from < std::min(n, (row + 1) * block); ++from)
    for (std::size_t to = column * block; to < std::min(n, (column + 1) * block); ++to)
      heat = std::max(heat, grid.heat(from, to));
  return heat;
}

// How many nodes one letter or rectangle covers, so that at most `most` are drawn.
std::size_t block_for(std::size_t nodes, std::size_t most) {
  return std::max<std::size_t>(1, (nodes + most - 1) / most);
}

// Text for XML: node names come from others.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text))
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// A row's name beside its letters on a terminal.
std::string shortened(std::string name) {
  if (name.size() <= kMostNameBytes) return name;
  name.resize(kMostNameBytes - 1);
  while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0x80) != 0) name.pop_back();
  return name + ">";
}

// The first node of the block.
std::string row_name(const HeatGrid& grid, std::size_t row, std::size_t block) {
  const std::string& first = grid.nodes[row * block];
  if (block == 1) return first;
  return fmt::format("{} ...", first);
}

}  // namespace

// The bounds are those of the legend (kLooks).
Heat HeatGrid::heat(std::size_t from, std::size_t to) const {
  const double value = values[from * nodes.size() + to];
  const double usual = expected[from * nodes.size() + to];
  if (from == to || value <= 0 || usual <= 0) return Heat::kMissing;
  const double worse = larger_is_better ? 1 - value / usual : value / usual - 1;
  if (worse < -0.03) return Heat::kBetter;
  if (worse <= 0.03) return Heat::kUsual;
  if (worse <= 0.07) return Heat::kLower;
  if (worse <= 0.15) return Heat::kLow;
  return worse <= 0.30 ? Heat::kBad : Heat::kWorst;
}

// Sorts nodes by leaf and name, and expects of each pair the median of its class: within a leaf, or
// across leaves.
HeatGrid grid_of(const api::PairMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.nodes_size());
  const auto leaf = [&matrix](int node) {
    return node < matrix.leaves_size() ? matrix.leaves(node) : std::string();
  };
  // Nodes of one leaf are neighbours in the picture.
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](int node) { return std::pair(leaf(node), matrix.nodes(node)); });
  HeatGrid grid{.values = std::vector<double>(n * n), .expected = std::vector<double>(n * n)};
  grid.larger_is_better = matrix.larger_is_better();
  for (const int node : order) {
    grid.nodes.push_back(matrix.nodes(node));
    grid.leaves.push_back(leaf(node));
  }
  std::array<std::vector<double>, 2> classes;
  const auto visit = [&](auto act) {
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to)
        if (from != to)
          act(from * n + to, grid.leaves[from] == grid.leaves[to] ? 0U : 1U, from, to);
  };
  visit([&](std::size_t at, unsigned which, std::size_t from, std::size_t to) {
    const int index = order[from] * static_cast<int>(n) + order[to];
    if (index < matrix.values_size()) grid.values[at] = matrix.values(index);
    if (grid.values[at] > 0) classes[which].push_back(grid.values[at]);
  });
  // The expected figure of a class is its median, which a few slow pairs do not move.
  const std::array<double, 2> usual{upper_median(classes[0]), upper_median(classes[1])};
  visit([&](std::size_t at, unsigned which, std::size_t, std::size_t) {
    grid.expected[at] = usual[which];
  });
  return grid;
}

// The diagonal is drawn as '\' where every letter is one pair.
std::string heat_text(const HeatGrid& grid, bool colour) {
  const std::size_t most = tables_are_cut() ? kMostLettersOfScreen : kMostLetters;
  const std::size_t block = block_for(grid.nodes.size(), most);
  const std::size_t side = (grid.nodes.size() + block - 1) / block;
  std::string text;
  for (std::size_t row = 0; row < side; ++row) {
    text += "  ";
    for (std::size_t column = 0; column < side; ++column) {
      const Look& look = look_of(worst(grid, row, column, block));
      const char letter = row == column && block == 1 ? '\\' : look.letter;
      text += toned(std::string(1, letter), look.tone, colour && look.tone != Tone::kPlain);
    }
    std::string name = printable(row_name(grid, row, block));
    const std::string& leaf = grid.leaves[row * block];
    if (!leaf.empty()) name += fmt::format(" ({})", printable(leaf));
    text += "  " + (tables_are_cut() ? shortened(std::move(name)) : name) + '\n';
  }
  std::string legend = "rows send, columns receive in the same order";
  if (block > 1) legend += fmt::format("; a letter is the worst of {0} x {0} pairs", block);
  text += wrapped_line(legend);
  for (const Look& look : kLooks)
    text += fmt::format("  {:<5}  {}\n", look.letter == ' ' ? "blank" : std::string(1, look.letter),
                        look.words);
  return text;
}

// Names are written up to 64 rows; more would overlap.
std::string heat_svg(const HeatGrid& grid, const std::string& title, std::size_t most_rectangles) {
  const std::size_t block = block_for(grid.nodes.size(), most_rectangles);
  const std::size_t side = (grid.nodes.size() + block - 1) / block;
  // About 800 pixels a side, with cells that can still be seen.
  const std::size_t cell = std::clamp<std::size_t>(800 / std::max<std::size_t>(side, 1), 2, 24);
  const bool named = side <= 64;
  constexpr std::size_t kTop = 40;
  const std::size_t left = named ? 120 : 10;
  const std::size_t width = left + side * cell + 10;
  const std::size_t height = kTop + side * cell + 20 * (kLooks.size() + 1);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<title>{2}</title>\n<rect "
      "width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n<text x=\"10\" y=\"20\">{2}</text>\n",
      std::max<std::size_t>(width, 420), height, escaped(title));
  for (std::size_t row = 0; row < side; ++row) {
    const std::size_t y = kTop + row * cell;
    if (named)
      svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"{}\">{}</text>\n",
                         left - 4, y + cell - cell / 4, std::min<std::size_t>(cell, 12),
                         escaped(row_name(grid, row, block)));
    // Neighbours of one colour are one rectangle.
    for (std::size_t begin = 0; begin < side;) {
      const Heat heat = worst(grid, row, begin, block);
      std::size_t end = begin + 1;
      while (end < side && worst(grid, row, end, block) == heat) ++end;
      svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                         left + begin * cell, y, (end - begin) * cell, cell, look_of(heat).fill);
      begin = end;
    }
  }
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    const std::size_t y = kTop + side * cell + 20 * (i + 1) - 6;
    svg += fmt::format(
        "<rect x=\"10\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"28\" "
        "y=\"{}\">{}</text>\n",
        y, kLooks[i].fill, y + 10, kLooks[i].words);
  }
  return svg + "</svg>\n";
}

}  // namespace railgauge::cli

// Figures of pairs of one night, as they are given to the judge of parts: any slice of all pairs,
// of one metric and message size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace railgauge::parts {

// One node of the night.
struct NightNode {
  std::string name{};
  // Index into NightFigures::leaves; -1: unknown.
  std::int32_t leaf = -1;
  // Nodes of equal hardware are compared with each other; any numbers.
  std::int32_t hardware = 0;
};

// One measured figure. Ends are indices into NightFigures::nodes.
struct Figure {
  // The node that sends the data.
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rail = 0;
  // True: from GPU memory to GPU memory; false: host memory.
  bool gpu = false;
  // In any one unit, above 0.
  double value = 0;
};

// The figures of one night.
struct NightFigures {
  // True for a rate, false for a time.
  bool larger_is_better = true;
  std::vector<NightNode> nodes{};
  std::vector<std::string> leaves{};
  // By rail: rails of equal number are alike by design (same speed). Empty: all rails are.
  std::vector<std::int32_t> rail_class{};
  std::vector<Figure> figures{};
};

// Bounds of a night.
inline constexpr std::size_t kMostNodes = 16'384;
inline constexpr std::size_t kMostRails = 64;

}  // namespace railgauge::parts

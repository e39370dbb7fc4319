// The fast ways over the figures against the slow ones.
#include "controller/localise/localise_cells.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "controller/localise/testing/localise_testing.h"

namespace railgauge::localise {
namespace {

// 150 nodes under 5 leaves, dealt out like cards; some of unknown leaf; figures that are missing,
// zero, or far beyond the bins.
PairData ragged() {
  PairData data = healthy(150, 30);
  for (std::size_t node = 0; node < data.leaf_of.size(); ++node)
    data.leaf_of[node] = node % 11 == 0 ? -1 : static_cast<std::int32_t>(node % 5);
  int at = 0;
  for_all(data, [&at](int from, int to, float& value) {
    if (++at % 7 == 0) value = std::numeric_limits<float>::quiet_NaN();
    if (at % 101 == 0) value = 0;
    if (at % 103 == 0) value = std::numeric_limits<float>::infinity();
    if (at % 50 == 0) value *= 0.2F;
    if (at % 61 == 0) value *= 5;
    if (from == 3 || to == 8) value *= 0.9F;
  });
  return data;
}

void expect_same(const Sums& a, const Sums& b, const char* what) {
  EXPECT_EQ(a.count, b.count) << what;
  EXPECT_EQ(a.low, b.low) << what;
  EXPECT_EQ(a.sum, b.sum) << what;
  EXPECT_EQ(a.bound, b.bound) << what;
}

// To the bit: what is a power of two's multiple has one sum.
void expect_sums_of_bins(const Cells& cells) {
  const Topology& topology = cells.topology();
  const std::size_t leaves = topology.members.size();
  for (const LayerCells& layer : cells.layers()) {
    Sums all;
    std::vector<Sums> sends(topology.nodes), receives(topology.nodes), blocks(leaves * leaves);
    for (std::size_t from = 0; from < topology.nodes; ++from)
      for (std::size_t to = 0; to < topology.nodes; ++to) {
        const std::uint8_t bin = layer.bins[from * topology.nodes + to];
        if (bin == kNoFigure) continue;
        ASSERT_LT(bin, kBins);
        for (Sums* sums : {&all, &sends[from], &receives[to],
                           &blocks[static_cast<std::size_t>(topology.leaf_of[from]) * leaves +
                                   static_cast<std::size_t>(topology.leaf_of[to])]})
          *sums += bin_sums(bin);
      }
    expect_same(layer.all, all, "all");
    for (std::size_t node = 0; node < topology.nodes; ++node) {
      expect_same(layer.sends[node], sends[node], "sends");
      expect_same(layer.receives[node], receives[node], "receives");
    }
    for (std::size_t block = 0; block < blocks.size(); ++block)
      expect_same(layer.blocks[block], blocks[block], "blocks");
  }
}

TEST(LocaliseCells, AddUpTheirBins) {
  for (const Model model : {Model::kMinimum, Model::kAdditive}) {
    PairData data = ragged();
    data.model = model;
    Cells cells(data, {});
    EXPECT_GT(cells.layers()[0].all.count, 15'000);
    EXPECT_GT(cells.layers()[0].all.low, 300);
    expect_sums_of_bins(cells);
    cells.put(1, 3, 4, kNoFigure);
    cells.put(1, 7, 5, 2);
    expect_sums_of_bins(cells);
  }
}

TEST(LocaliseCells, PutAFigureIntoTheBinOfItsDeviation) {
  const PairData data = ragged();
  const Cells cells(data, {});
  const LayerCells& layer = cells.layers()[0];
  std::size_t there = 0;
  for (std::int32_t from = 0; from < 150; ++from)
    for (std::int32_t to = 0; to < 150; ++to) {
      const float value =
          data.layers[0]
              .values[static_cast<std::size_t>(from) * 150 + static_cast<std::size_t>(to)];
      const std::uint8_t bin = cells.bin(0, from, to);
      EXPECT_EQ(bin == kNoFigure, from == to || !usable(value)) << from << ' ' << to;
      if (bin == kNoFigure) continue;
      ++there;
      const double z = (value / cells.expected(0, from, to) - 1) / layer.noise;
      if (bin == 0) {
        EXPECT_LT(z, deviation_of(1));
      } else if (bin == kBins - 1) {
        EXPECT_GT(z, deviation_of(kBins - 2));
      } else {
        EXPECT_NEAR(z, deviation_of(bin), kBinWidth / 2 + 1e-3);
      }
    }
  EXPECT_EQ(static_cast<double>(there), layer.all.count);
}

// The medians of the bins are those of the figures, by class, wherever these were expected.
TEST(LocaliseCells, FindTheMediansOfWhatIsLeft) {
  PairData data = healthy(150, 30);
  for_all(data, [&](int from, int to, float& value) { value *= from / 30 == to / 30 ? 1 : 0.8F; });
  const Cells cells(data, {}, {{980, 800}, {980, 800}});
  const auto centres = cells.centres(Model::kMinimum);
  ASSERT_EQ(centres.size(), 2u);
  for (const auto& centre : centres) {
    EXPECT_NEAR(centre[0], 1000, 2);
    EXPECT_NEAR(centre[1], 800, 1);
  }
}

TEST(LocaliseLevel, QuantilesAreThoseOfTheSortedFigures) {
  std::uint32_t state = 7;
  const auto uniform = [&state] {
    state = state * 1664525U + 1013904223U;
    return static_cast<float>(state >> 8U) * 0x1p-24F;
  };
  for (const std::size_t size : {1u, 2u, 5u, 4'096u, 4'097u, 30'000u})
    for (int shape = 0; shape < 5; ++shape) {
      std::vector<float> values(size);
      for (float& value : values) {
        value = 4e10F * (1 + 0.05F * uniform());
        if (shape == 1) value = std::floor(uniform() * 10);                     // ties
        if (shape == 2) value = 3;                                              // nothing but a tie
        if (shape == 3 && uniform() < 0.01F) value = 3e38F;                     // far away
        if (shape == 4) value = std::numeric_limits<float>::min() * uniform();  // hardly numbers
      }
      std::vector<float> sorted = values;
      std::ranges::sort(sorted);
      for (const double share : {0.0, 0.25, 0.5, 1.0}) {
        const auto rank = static_cast<std::size_t>(share * static_cast<double>(size - 1));
        std::vector<float> used = values;
        EXPECT_EQ(quantile(used, share), sorted[rank]) << size << ' ' << shape << ' ' << share;
      }
    }
}

}  // namespace
}  // namespace railgauge::localise

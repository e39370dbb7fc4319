// Exact least-squares segmentation of a series into constant levels. By the pruning of Killick,
// Fearnhead and Eckley (JASA 107, 2012), delayed by the least length of segments. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// Sums over a series, which yield the cost of any stretch in constant time.
class PrefixSums {
 public:
  // Makes two passes over the values; later calls take constant time.
  explicit PrefixSums(std::span<const double> values);
  [[nodiscard]] std::size_t size() const { return sum_.size() - 1; }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const;
  // Returns the sum of squares about the mean of [begin, end), begin < end; never negative.
  [[nodiscard]] double cost(std::size_t begin, std::size_t end) const;
  // Returns the cost that a split of [begin, end) at `at` saves.
  [[nodiscard]] double gain(std::size_t begin, std::size_t at, std::size_t end) const;

 private:
  friend std::vector<std::size_t> pelt(const PrefixSums&, double, std::size_t);
  // Subtracted from all values, so that large levels lose no digits.
  double centre_ = 0;
  // Sums of values and of squares before each index; n + 1 of each.
  std::vector<double> sum_;
  std::vector<double> square_;
};

// Returns the first indices of all segments except the first, ascending. They minimise the sum of
// costs plus `penalty` for each index; every segment has at least `least` (>= 1) values.
std::vector<std::size_t> pelt(const PrefixSums& sums, double penalty, std::size_t least);

}  // namespace railgauge::analysis

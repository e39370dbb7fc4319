// The least-squares segmentation of a series into constant levels, exact. Killick, Fearnhead and
// Eckley's pruning (JASA 107, 2012), with the delay that a least length of segments asks for. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// Sums over a series from which the cost of any stretch follows in constant time.
class PrefixSums {
 public:
  // Costs two passes over the values; later calls are constant in time.
  explicit PrefixSums(std::span<const double> values);
  [[nodiscard]] std::size_t size() const { return sum_.size() - 1; }
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const;
  // Sum of squares about the mean of [begin, end), begin < end; never negative.
  [[nodiscard]] double cost(std::size_t begin, std::size_t end) const;
  // The cost saved by splitting [begin, end) at `at`.
  [[nodiscard]] double gain(std::size_t begin, std::size_t at, std::size_t end) const;

 private:
  friend std::vector<std::size_t> pelt(const PrefixSums&, double, std::size_t);
  // Taken off first, so that large levels lose no digits.
  double centre_ = 0;
  // Sums of values and of squares before each index; n + 1 of each.
  std::vector<double> sum_;
  std::vector<double> square_;
};

// The first indices of all segments but the first, ascending: what minimises the summed cost plus
// `penalty` for each of them, with every segment at least `least` (>= 1) long.
std::vector<std::size_t> pelt(const PrefixSums& sums, double penalty, std::size_t least);

}  // namespace railgauge::analysis

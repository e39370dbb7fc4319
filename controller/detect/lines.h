// The cut of a series into flat and sloping lines, of which some meet. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// Least length of one of the lines that make up a curve, in values.
inline constexpr std::size_t kLeastLine = 8;

// Sums over a series, which give costs and slopes of lines in constant time. A cost is a sum of
// squared residuals. `runs` are the places of the values on the axis of runs, ascending: a missing
// run leaves a gap, and a slope is what a level moves in one run.
class LineSums {
 public:
  LineSums(std::span<const double> values, std::span<const std::size_t> runs);

  [[nodiscard]] std::size_t size() const { return sum_.size() - 1; }
  // Returns the cost of a flat line over the values [begin, end).
  [[nodiscard]] double flat(std::size_t begin, std::size_t end) const;
  // Returns the cost that a slope saves in [begin, end).
  [[nodiscard]] double saved(std::size_t begin, std::size_t end) const;
  [[nodiscard]] double slope(std::size_t begin, std::size_t end) const;
  [[nodiscard]] double mean(std::size_t begin, std::size_t end) const;
  // Returns the mean place of [begin, end).
  [[nodiscard]] double mean_run(std::size_t begin, std::size_t end) const;
  // Returns the place of value `at`.
  [[nodiscard]] double run(std::size_t at) const { return run_sum_[at + 1] - run_sum_[at]; }

 private:
  friend struct ChainEquations;
  // Sum of (place - mean place) times value, and the inverse of that of (place - mean place)^2; 0
  // for one value.
  [[nodiscard]] double product(std::size_t begin, std::size_t end) const;
  [[nodiscard]] double inverse_spread(std::size_t begin, std::size_t end) const;

  // Subtracted from all values, so that large levels lose no digits.
  double base_ = 0;
  std::vector<double> sum_;
  std::vector<double> square_;
  std::vector<double> moment_;
  std::vector<double> run_sum_;
  std::vector<double> run_square_;
  // Inverses by length, because a division is slower than the rest. That of the spread is empty
  // where runs are missing.
  std::vector<double> inverse_;
  std::vector<double> inverse_spread_;
};

// A line of the fit over the values [begin, end).
struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool sloping = false;
  // A step parts this line from the one before.
  bool jump = false;
};

// The level at the end of a line.
struct Node {
  std::size_t at = 0;
  double level = 0;
};

// Lines that meet, fitted by least squares.
struct ChainFit {
  // The begin of each line, then the last value.
  std::vector<Node> nodes{};
  double cost = 0;
};

// Fits lines that meet: the unknowns are the levels of the nodes, and both ends of a flat line are
// one. `chain` is not empty; its lines follow each other.
ChainFit fit_chain(const LineSums& sums, std::span<const Line> chain);

// Returns the standard deviation of the level at node `to` less that at node `from` of a fitted
// chain, for independent noise of deviation 1.
double spread_between(const LineSums& sums, std::span<const Line> chain, std::size_t from,
                      std::size_t to);

// Returns one past the last line of the chain of line `i`.
std::size_t chain_end(std::span<const Line> lines, std::size_t i);

// Prices of the parts of a cut, in the squared unit of the values.
struct Prices {
  // Squared deviation of a long mean times its length.
  double unit = 0;
  double line = 0;
  double slope = 0;
  // A step between two lines, beside the price of the line.
  double jump = 0;
};

// Returns the cheapest cut into lines that do not meet, exactly: the dynamic programme of optimal
// partitioning, pruned as PELT's. All lines but the first have `jump` set.
std::vector<Line> cut_into_lines(const LineSums& sums, const Prices& prices);

// Replaces steps between lines by joints where they meet, one line in place of two, or flat lines
// by sloping ones, while that costs less. A step beside a slope has to be shown by the runs next to
// it. The cost of a trial depends on the lines next to the joint only.
void join_lines(const LineSums& sums, const Prices& prices, std::vector<Line>& lines);

}  // namespace railgauge::analysis

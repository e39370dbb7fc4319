// The traffic of an all-to-all with unequal parts: how much each rank sends to each other one, in
// proportion. By a rule, as nccl-tests' alltoallv_perf has it, or by a matrix. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::nccl {

// Parts are given by weights. A call of `count` elements gives `count` to the rank that sends or
// receives most, and to all pairs their proportion of it, down to multiples of 16 bytes where a
// part has so many; the pair with the highest weight has at least one element.
class Traffic {
 public:
  // The rule: the weight of a pair grows with the distance from sender to receiver, counted in
  // ranks upwards. `spread` is from 0 (all parts equal) to 1 (nothing for the sender itself).
  static Traffic by_distance(double spread, std::uint32_t ranks, std::uint64_t element_bytes);
  // Reads a matrix: rows apart by `;` or a new line, whole numbers in a row by blanks or commas;
  // row i has what rank i sends. As in nccl-tests it is square, its numbers are bytes, and of a
  // larger one the first `ranks` rows and columns count. kInvalidArgument names what is wrong.
  static Result<Traffic> by_matrix(std::string_view text, std::uint32_t ranks,
                                   std::uint64_t element_bytes);

  // Returns the elements that one rank sends to another in a call of `count`.
  [[nodiscard]] std::uint64_t part(std::uint32_t from, std::uint32_t to, std::uint64_t count) const;
  // Return the elements that one rank sends or receives in all, its part to itself included.
  [[nodiscard]] std::uint64_t sent(std::uint32_t rank, std::uint64_t count) const;
  [[nodiscard]] std::uint64_t received(std::uint32_t rank, std::uint64_t count) const;
  // Returns the most that any rank sends or receives: the S of algbw = S/t.
  [[nodiscard]] std::uint64_t most(std::uint64_t count) const;

  // Returns the highest total of a row or column of a matrix: the size in bytes at which each part
  // is as long as the matrix says. kInvalidArgument as by_matrix().
  static Result<std::uint64_t> matrix_bytes(std::string_view text, std::uint32_t ranks);

 private:
  Traffic(std::uint32_t ranks, std::uint64_t element_bytes);
  [[nodiscard]] std::uint64_t weight(std::uint32_t from, std::uint32_t to) const;

  std::uint32_t ranks_;
  std::uint64_t aligned_elements_;  // in 16 bytes
  // By the rule: thousandths of spread. By a matrix: its rows, one after the other.
  std::uint64_t spread_thousandths_ = 0;
  std::vector<std::uint64_t> matrix_;
  std::uint64_t highest_weight_ = 0;
  std::uint64_t highest_total_ = 0;
};

}  // namespace railgauge::nccl

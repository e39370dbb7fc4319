// Weights are whole numbers, so that all ranks compute the same parts on any machine.
#include "kernels/nccl/traffic.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::nccl {
namespace {

__extension__ using Wide = unsigned __int128;  // of a count times a weight

constexpr std::uint64_t kAlignmentBytes = 16;  // as nccl-tests aligns
constexpr std::uint64_t kThousand = 1000;
// The bound of one number in a matrix, so that no total overflows.
constexpr std::uint64_t kHighestWeight = std::uint64_t{1} << 40U;

using Rows = std::vector<std::vector<std::uint64_t>>;

Result<std::uint64_t> number_of(std::string_view word, std::size_t row) {
  std::uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (wrong != std::errc() || end != word.data() + word.size() || value > kHighestWeight)
    return invalid("traffic: row {}: {} is no whole number of bytes up to {}", row + 1,
                   in_quotes(word), kHighestWeight);
  return value;
}

// Splits the text; empty rows are skipped.
Result<Rows> rows_of(std::string_view text) {
  Rows rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(";\n"), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::vector<std::uint64_t> row;
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(" \t\r,"), line.size()));
      if (line.empty()) break;
      const std::size_t stop = std::min(line.find_first_of(" \t\r,"), line.size());
      row.push_back(RG_TRY(number_of(line.substr(0, stop), rows.size())));
      line.remove_prefix(stop);
    }
    if (!row.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

// Square and large enough; the first `ranks` rows and columns.
Result<Rows> matrix_of(std::string_view text, std::uint32_t ranks) {
  Rows rows = RG_TRY(rows_of(text));
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows[row].size() != rows.size())
      return invalid("traffic: row {} has {} numbers; the matrix has {} rows and must be square",
                     row + 1, rows[row].size(), rows.size());
  if (rows.size() < ranks)
    return invalid("traffic: the matrix has {} rows; {} ranks need as many", rows.size(), ranks);
  rows.resize(ranks);
  for (auto& row : rows) row.resize(ranks);
  return rows;
}

// The highest total of a row or a column.
std::uint64_t highest_total(const Rows& rows) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (std::size_t other = 0; other < rows.size(); ++other) {
      sent += rows[rank][other];
      received += rows[other][rank];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

}  // namespace

Traffic::Traffic(std::uint32_t ranks, std::uint64_t element_bytes)
    : ranks_(ranks),
      aligned_elements_(std::max<std::uint64_t>(1, kAlignmentBytes / element_bytes)) {}

// nccl-tests' formula, (1 - spread) / ranks + spread * distance / sum of distances, times the
// common denominator. All ranks have the same total.
Traffic Traffic::by_distance(double spread, std::uint32_t ranks, std::uint64_t element_bytes) {
  Traffic made(ranks, element_bytes);
  made.spread_thousandths_ =
      static_cast<std::uint64_t>(std::lround(std::clamp(spread, 0.0, 1.0) * kThousand));
  for (std::uint32_t to = 0; to < ranks; ++to) {
    made.highest_total_ += made.weight(0, to);
    made.highest_weight_ = std::max(made.highest_weight_, made.weight(0, to));
  }
  return made;
}

Result<Traffic> Traffic::by_matrix(std::string_view text, std::uint32_t ranks,
                                   std::uint64_t element_bytes) {
  const Rows rows = RG_TRY(matrix_of(text, ranks));
  Traffic made(ranks, element_bytes);
  for (const auto& row : rows) made.matrix_.insert(made.matrix_.end(), row.begin(), row.end());
  made.highest_weight_ = *std::ranges::max_element(made.matrix_);
  made.highest_total_ = highest_total(rows);
  if (made.highest_total_ == 0) return invalid("traffic: all numbers of the matrix are 0");
  return made;
}

Result<std::uint64_t> Traffic::matrix_bytes(std::string_view text, std::uint32_t ranks) {
  return highest_total(RG_TRY(matrix_of(text, ranks)));
}

// By the rule, a pair's distance is that of a ring: from the sender upwards.
std::uint64_t Traffic::weight(std::uint32_t from, std::uint32_t to) const {
  if (!matrix_.empty()) return matrix_[static_cast<std::size_t>(from) * ranks_ + to];
  if (ranks_ == 1) return 1;
  const std::uint64_t distance = (to + std::uint64_t{ranks_} - from) % ranks_;
  return (kThousand - spread_thousandths_) * (ranks_ - 1) + spread_thousandths_ * 2 * distance;
}

// The proportion in exact arithmetic, then down to whole 16 bytes. Small calls keep their odd
// elements, and the heaviest pair at least one, so that no call moves nothing.
std::uint64_t Traffic::part(std::uint32_t from, std::uint32_t to, std::uint64_t count) const {
  const std::uint64_t own = weight(from, to);
  const auto elements = static_cast<std::uint64_t>(Wide{count} * own / highest_total_);
  if (elements >= aligned_elements_) return elements / aligned_elements_ * aligned_elements_;
  return elements == 0 && own == highest_weight_ ? 1 : elements;
}

std::uint64_t Traffic::sent(std::uint32_t rank, std::uint64_t count) const {
  std::uint64_t all = 0;
  for (std::uint32_t to = 0; to < ranks_; ++to) all += part(rank, to, count);
  return all;
}

std::uint64_t Traffic::received(std::uint32_t rank, std::uint64_t count) const {
  std::uint64_t all = 0;
  for (std::uint32_t from = 0; from < ranks_; ++from) all += part(from, rank, count);
  return all;
}

// By the rule all ranks have the same total.
std::uint64_t Traffic::most(std::uint64_t count) const {
  if (matrix_.empty()) return sent(0, count);
  std::uint64_t most = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank)
    most = std::max({most, sent(rank, count), received(rank, count)});
  return most;
}

}  // namespace railgauge::nccl

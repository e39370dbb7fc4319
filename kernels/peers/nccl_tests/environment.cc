// The tool's own rules: a matrix is scaled and then cut to multiples of 16 bytes, number by number.
#include "kernels/peers/nccl_tests/environment.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr const char* kSplit = "NCCL_TESTS_SPLIT";
constexpr const char* kSplitMask = "NCCL_TESTS_SPLIT_MASK";
constexpr const char* kSpread = "NCCL_TESTS_ALLTOALLV_SPREAD";
constexpr const char* kScale = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE";
constexpr const char* kUnequal = "nccl.all_to_all_v";
constexpr double kAlignment = 16;
constexpr double kMostBytes = 1e12;  // of one number
constexpr std::size_t kMostRanks = 4096;

using Matrix = std::vector<std::vector<std::uint64_t>>;

// "" where it is not set.
std::string value_in(const NcclTestsEnvironment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// One line of the file, scaled and cut.
Result<std::vector<std::uint64_t>> row_in(std::string_view line, double scale) {
  std::vector<std::uint64_t> row;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return row;
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    const double scaled = parse_number(word).value_or(-1) * scale;
    if (!(scaled >= 0) || !(scaled <= kMostBytes))
      return invalid("{}: {} is no number of bytes", kMatrixVariable, in_quotes(word));
    row.push_back(static_cast<std::uint64_t>(std::floor(scaled / kAlignment) * kAlignment));
  }
}

// The rows and columns of the call's ranks, of a matrix that may have more.
Result<Matrix> matrix_in(std::string_view text, double scale, std::uint32_t ranks) {
  Matrix rows;
  while (!text.empty() && rows.size() <= kMostRanks) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    auto row = RG_TRY(row_in(text.substr(0, end), scale));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!row.empty()) rows.push_back(std::move(row));
  }
  if (std::ranges::any_of(rows, [&](const auto& row) { return row.size() != rows.size(); }) ||
      rows.size() < ranks)
    return invalid("{}: the matrix must be square, with a row for each of {} ranks",
                   kMatrixVariable, ranks);
  rows.resize(ranks);
  for (auto& row : rows) row.resize(ranks);
  return rows;
}

// The bytes of the rank that sends or receives most, by which the tool counts.
std::uint64_t highest_total(const Matrix& rows) {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::uint64_t received = 0;
    for (const auto& row : rows) received += row[rank];
    most = std::max(
        {most, received, std::accumulate(rows[rank].begin(), rows[rank].end(), std::uint64_t{0})});
  }
  return most;
}

// Proportions alone count in the parameter, so that the numbers are as short as they can be.
std::string matrix_words(Matrix rows) {
  std::uint64_t common = 0;
  for (const auto& row : rows)
    for (const std::uint64_t one : row) common = std::gcd(common, one);
  std::vector<std::string> lines;
  for (auto& row : rows) {
    for (std::uint64_t& one : row) one /= std::max<std::uint64_t>(1, common);
    lines.push_back(fmt::format("{}", fmt::join(row, " ")));
  }
  return fmt::format("{}", fmt::join(lines, ";"));
}

// A file precedes the rule: the tool then ignores the spread.
Status read_traffic(const NcclTestsEnvironment& environment, std::uint32_t ranks,
                    NcclTestsSurroundings& out) {
  const std::string matrix = value_in(environment, kMatrixVariable);
  if (matrix.empty()) {
    if (const std::string spread = value_in(environment, kSpread); !spread.empty()) {
      const auto value = parse_number(spread);
      if (!value) return invalid("{}: {} is no number", kSpread, in_quotes(spread));
      out.parameters["spread"] = fmt::format("{:.3g}", std::clamp(*value, 0.0, 1.0));
    }
    return {};
  }
  const std::string scale = value_in(environment, kScale);
  const auto factor = parse_number(scale.empty() ? "1" : scale);
  if (!factor || !(*factor > 0)) return invalid("{}: {} is no scale", kScale, in_quotes(scale));
  const Matrix rows = RG_TRY(matrix_in(matrix, *factor, ranks));
  out.matrix_bytes = highest_total(rows);
  if (out.matrix_bytes == 0)
    return invalid("{}: all its numbers are below 16 bytes", kMatrixVariable);
  out.parameters["traffic"] = matrix_words(rows);
  return {};
}

}  // namespace

Result<NcclTestsSurroundings> read_surroundings(const NcclTestsEnvironment& environment,
                                                std::string_view kernel, std::uint32_t ranks) {
  NcclTestsSurroundings out;
  // As in the tool, the mask precedes; it is hexadecimal.
  std::string split = value_in(environment, kSplit);
  if (std::string mask = value_in(environment, kSplitMask); !mask.empty())
    split = (mask.starts_with("0x") ? "and " : "and 0x") + mask;
  if (!split.empty()) out.parameters["split"] = split;
  if (kernel == kUnequal) RG_TRY_OK(read_traffic(environment, ranks, out));
  // Variables that would change the measurement, or the exit code, are refused: a result that looks
  // as asked for and is another one would be worse than none.
  for (const auto& [name, instead] :
       {std::pair{"NCCL_TESTS_DEVICE", "CUDA_VISIBLE_DEVICES chooses GPUs"},
        {"NCCL_TESTS_MIN_BW", "a suite's criteria judge a bandwidth"}})
    if (environment.contains(name)) return invalid("{}: not honoured here; {}", name, instead);
  for (const auto& [name, value] : environment)
    if (name != kSplit && name != kSplitMask && name != kSpread && name != kScale &&
        name != kMatrixVariable)
      out.infos.push_back(fmt::format("{} changes nothing here", name));
  return out;
}

}  // namespace railgauge

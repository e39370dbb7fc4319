#include "deploy/compare/table.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

namespace railgauge::compare {
namespace {

constexpr double kEqualWithin = 0.05;
constexpr double kWidestInterval = 0.20;

Result<Expectation> parse_expectation(const std::string& word) {
  if (word == "equal") return Expectation::kEqual;
  if (word == "holds_one") return Expectation::kHoldsOne;
  if (word == "excludes_one") return Expectation::kExcludesOne;
  return invalid("expectation {}; allowed: equal, holds_one, excludes_one", word);
}

Verdict verdict_of(Expectation expectation, const PairedRatio& ratio) {
  const bool holds = ratio.holds(1);
  switch (expectation) {
    case Expectation::kHoldsOne:
      return holds ? Verdict::kPassed : Verdict::kInvalid;
    case Expectation::kExcludesOne:
      return ratio.low > 1 ? Verdict::kPassed : Verdict::kInvalid;
    case Expectation::kEqual:
      break;
  }
  if (ratio.ratio >= 1 - kEqualWithin && ratio.ratio <= 1 + kEqualWithin) return Verdict::kPassed;
  if (holds && ratio.high - ratio.low <= kWidestInterval) return Verdict::kPassed;
  // Unequal is a statement too, and wants its interval: one table row in twenty excludes 1 by
  // chance.
  const bool beyond = ratio.low > 1 + kEqualWithin || ratio.high < 1 - kEqualWithin;
  return beyond ? Verdict::kFailed : Verdict::kNoisy;
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kNoisy:
      return "too noisy for a statement";
    case Verdict::kInvalid:
      return "INVALID: the control failed";
  }
  return "";
}

const char* word(Expectation expectation) {
  switch (expectation) {
    case Expectation::kEqual:
      return "equal";
    case Expectation::kHoldsOne:
      return "control, holds 1";
    case Expectation::kExcludesOne:
      return "control, above 1";
  }
  return "";
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

Result<Judged> judge(const Row& row) {
  const PairedRatio ratio = RG_TRY(paired_ratio(row.ours, row.theirs));
  return Judged{.row = row, .ratio = ratio, .verdict = verdict_of(row.expectation, ratio)};
}

Verdict overall(const std::vector<Judged>& rows) {
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(rows, [&](const Judged& row) { return row.verdict == verdict; });
  };
  if (rows.empty() || any(Verdict::kInvalid)) return Verdict::kInvalid;
  if (any(Verdict::kFailed)) return Verdict::kFailed;
  return any(Verdict::kNoisy) ? Verdict::kNoisy : Verdict::kPassed;
}

Result<std::vector<Row>> parse(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream fields(line);
    std::string name;
    std::string expectation;
    std::string side;
    std::string figure;
    std::getline(fields, name, '\t');
    std::getline(fields, expectation, '\t');
    std::getline(fields, side, '\t');
    std::getline(fields, figure, '\t');
    double value = 0;
    const auto [end, error] = std::from_chars(figure.data(), figure.data() + figure.size(), value);
    if (error != std::errc() || end != figure.data() + figure.size() ||
        (side != "ours" && side != "theirs"))
      return invalid("line {}: \"{}\"; wanted comparison, expectation, ours or theirs, figure",
                     number, line);
    const Expectation expected = RG_TRY(parse_expectation(expectation));
    auto row = std::ranges::find(rows, name, &Row::name);
    if (row == rows.end()) row = rows.insert(rows.end(), Row{name, expected, {}, {}});
    (side == "ours" ? row->ours : row->theirs).push_back(value);
  }
  return rows;
}

std::string print(const std::vector<Judged>& rows) {
  std::string out =
      fmt::format("{:<44} {:>8} {:>12} {:>12} {:>7} {:>17}  {:<20} {}\n", "comparison", "launches",
                  "ours", "theirs", "ratio", "95 % interval", "expected", "verdict");
  for (const Judged& judged : rows)
    out +=
        fmt::format("{:<44} {:>8} {:>12.5g} {:>12.5g} {:>7.3f} {:>8.3f} to {:>5.3f}  {:<20} {}\n",
                    judged.row.name, judged.row.ours.size(), median(judged.row.ours),
                    median(judged.row.theirs), judged.ratio.ratio, judged.ratio.low,
                    judged.ratio.high, word(judged.row.expectation), word(judged.verdict));
  return out + fmt::format("table: {}\n", word(overall(rows)));
}

}  // namespace railgauge::compare

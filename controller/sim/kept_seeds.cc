#include "controller/sim/kept_seeds.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::simulator {
namespace {

constexpr std::size_t kFields = 9;
constexpr std::string_view kLetters = "nmwx-";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

bool read_line(std::string_view line, std::size_t rows, KeptSeed& seed) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() != kFields) return false;
  seed.site = fields[2];
  seed.outcomes = fields[8];
  return read_number(fields[3], seed.noise) && read_number(fields[4], seed.seed) &&
         read_number(fields[5], seed.nights) && read_number(fields[6], seed.with_finding) &&
         read_number(fields[7], seed.with_candidate) && seed.outcomes.size() == rows &&
         std::ranges::all_of(seed.outcomes, [](char letter) {
           return kLetters.find(letter) != std::string_view::npos;
         });
}

}  // namespace

char outcome_letter(bool named, bool wrong) {
  if (wrong) return named ? 'w' : 'x';
  return named ? 'n' : 'm';
}
bool is_named(char letter) { return letter == 'n' || letter == 'w'; }
bool is_wrong(char letter) { return letter == 'w' || letter == 'x'; }

std::string line_of(const KeptSeed& seed, std::string_view commit, std::string_view date) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", commit, date, seed.site, seed.noise,
                     seed.seed, seed.nights, seed.with_finding, seed.with_candidate, seed.outcomes);
}

Result<std::vector<KeptSeed>> read_seeds(std::string_view text, std::size_t rows) {
  std::vector<KeptSeed> seeds;
  std::size_t number = 0;
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return seeds;
    ++number;
    KeptSeed seed;
    if (!read_line(text.substr(0, end), rows, seed))
      return fail(
          Code::kDataLoss,
          fmt::format("kept seeds: line {} is not a seed of this bench: {}; another version "
                      "has other rows: name a new file",
                      number, in_quotes(std::string(text.substr(0, end)))));
    seeds.push_back(std::move(seed));
    text.remove_prefix(end + 1);
  }
}

}  // namespace railgauge::simulator

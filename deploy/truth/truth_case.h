// The cases of the truth table: a healthy site for some nights, then one or two faults at places
// that the seed draws, and the names that the judge of parts should say. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::truth {

// One row of the table.
struct CaseKind {
  // "port-sends".
  std::string_view name;
  // Share of bandwidth that the fault takes where the caller gives none.
  double takes;
  // Nights with the fault within which it should be found, of faults from 10 % up; twice as many
  // below.
  std::uint32_t within;
  // The suite measures GPU memory as well.
  bool uses_gpus;
};
std::span<const CaseKind> case_kinds();
// nullptr: no such kind.
const CaseKind* find_case_kind(std::string_view name);

struct CaseChoice {
  const CaseKind* kind = nullptr;
  std::uint32_t nodes = 64;
  std::uint32_t rails = 8;
  std::uint32_t slices = 7;
  // Healthy nights first.
  std::uint32_t before = 7;
  std::uint64_t seed = 1;
  // Absent: the kind's own share.
  std::optional<double> takes{};
};

// The part that is faulty, as findings name it.
struct TruePart {
  // "part-sim0012-rail-1".
  std::string finding_id{};
  // "sim0012 rail 1".
  std::string suspect{};
};

struct Case {
  CaseChoice choice{};
  double takes = 0;
  // Nights of the whole case, and those that show the fault at its end.
  std::uint32_t nights = 0;
  std::uint32_t within = 0;
  // For railgauge-fleet, and for a suites folder.
  std::string scenario{};
  std::string suite{};
  std::vector<TruePart> parts{};
};

// Equal choices give equal cases. REQUIRES: a kind, 32 nodes or more (of 64,
// for `two`), 2 rails or more, a healthy night or more.
Case make_case(const CaseChoice& choice);

// A finding about a part, by the number of the night that first said so, from 1; 0: none did.
struct SaidPart {
  std::string finding_id{};
  // As confirmed, else as opened.
  std::string suspect{};
  std::uint32_t opened = 0;
  std::uint32_t confirmed = 0;
};

// The answer about one case, which whole service and pure judge give alike.
struct Answer {
  // Nights with the fault until the first finding about a faulty part, and until all faulty parts
  // are confirmed as what they are; 0: never.
  std::uint32_t first_word = 0;
  std::uint32_t found = 0;
  // Number of confirmed findings about anything else.
  std::uint32_t wrong = 0;
  // "sim0012 rail 1@9 ..." of all confirmed findings, with their nights.
  std::string confirmed{};
};
Answer answer_of(const Case& one, std::span<const SaidPart> said);
// Columns joined by tabs: nodes, rails, slices, kind, takes, seed, nights, within, first word,
// found, wrong, confirmed.
std::string row_of(const Case& one, const Answer& answer);

}  // namespace railgauge::truth

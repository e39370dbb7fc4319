// THE table of what a suite may say: each key with its kind of value, its bounds and its help. The
// reader takes allowed keys and bounds from it; suites/schema.json and the reference page are
// rendered from it (suite_reference.h). A new key is a member of its struct and a row here that
// names this member; only a value of another kind needs a reader of its own. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "controller/plan/suite/suite.h"

namespace railgauge::plan {

// The kind of value that a key takes.
enum class ValueKind {
  kWord,      // letters, digits, and _ - .
  kText,      // one scalar of at most `most` bytes
  kCount,     // a whole number from `least` to `most`
  kNumber,    // a number from `least` to `most`
  kDuration,  // 90s, 5min, 0
  kBoolean,   // true or false
  kChoice,    // one of `words`
  kMapping,   // the table named `of`
  kList,      // a list of at most `most` values of the definition named `of`
  kOther,     // `schema` says it
};

// The member that a key's value goes to, so that a key with a row needs no line in a reader. Empty:
// a reader of its own.
using KeyField =
    std::variant<std::monostate, std::uint64_t Suite::*, bool Stage::*, std::uint32_t Stage::*,
                 std::optional<double> Stage::*, bool run::RoundPolicy::*,
                 std::uint32_t run::RoundPolicy::*, double run::RoundPolicy::*,
                 std::uint32_t run::StopBudget::*, double run::StopBudget::*, bool run::Kindness::*,
                 std::uint32_t run::Kindness::*, double run::Kindness::*>;

// One row. Fields that a kind does not use are empty.
struct SuiteKey {
  std::string name;
  bool required = false;
  ValueKind kind = ValueKind::kOther;
  double least = 0;  // of kCount and kNumber
  double most = 0;   // of kCount and kNumber; bytes of kText; elements of kList, 0: not stated here
  std::vector<std::string> words{};
  std::string of{};
  std::string schema{};  // members of a JSON schema object, for kOther
  std::string help{};    // one line, without quotation marks
  KeyField field{};      // of kCount, kNumber, kDuration and kBoolean
};

// A mapping's rows. `name` is that of its definition in the schema.
struct KeyTable {
  KeyTable(std::string_view table_name, std::string table_help, std::vector<SuiteKey> rows,
           std::string table_rule = {});
  // The row of a key that the table has. A key without a row is a programmer error.
  [[nodiscard]] const SuiteKey& row(std::string_view key) const;

  std::string_view name;
  std::string help;
  std::vector<SuiteKey> keys;
  std::string rule;  // a further member of the schema's definition; "": none
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

const KeyTable& suite_keys();
const KeyTable& metadata_keys();
const KeyTable& night_keys();
const KeyTable& preflight_keys();
const KeyTable& rounds_keys();
const KeyTable& stop_keys();
const KeyTable& kindness_keys();
const KeyTable& bounds_keys();
const KeyTable& stage_keys();
const KeyTable& placement_keys();
const KeyTable& limit_keys();
std::vector<const KeyTable*> all_key_tables();

// Parameters that decide when a measurement ends: what a stage's `precision` may set.
std::span<const std::string> stop_rule_parameters();

// A word of a key with a fixed set of them, and what it means.
template <class Meaning>
using Words = std::span<const std::pair<std::string_view, Meaning>>;
Words<PairChoice> pair_words();
Words<Placement::Leaves> leaves_words();
Words<RailChoice> rail_words();
Words<PlacementKind> group_words();
Words<bool> direction_words();  // true: both
Words<bool> idle_words();       // true: a loopback
Words<run::OnFailure> on_failure_words();

}  // namespace railgauge::plan

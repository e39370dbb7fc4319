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
// Each kind has a reader (suite_values.h), a schema and a description (suite_reference.cc).
enum class ValueKind {
  // Letters, digits, and _ - .
  kWord,
  // One scalar of at most `most` bytes.
  kText,
  // A whole number from `least` to `most`.
  kCount,
  // A number from `least` to `most`.
  kNumber,
  // A duration with its unit (90s, 5min) or 0.
  kDuration,
  // The word true or false.
  kBoolean,
  // One of `words`.
  kChoice,
  // A mapping with the keys of the table named `of`.
  kMapping,
  // A list of at most `most` values of the definition named `of`.
  kList,
  // Any other value; `schema` describes it.
  kOther,
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
  // Lower bound of kCount and kNumber.
  double least = 0;
  // Upper bound of kCount and kNumber, bytes of kText, elements of kList; 0: not stated here.
  double most = 0;
  std::vector<std::string> words{};
  std::string of{};
  // Members of a JSON schema object, for kOther.
  std::string schema{};
  // One line, without quotation marks.
  std::string help{};
  // Set only for kCount, kNumber, kDuration and kBoolean.
  KeyField field{};
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
  // A further member of the schema's definition; "": none.
  std::string rule;
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

// One table for each mapping of a suite; each is built on its first call. Thread safe.
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
// All tables, in the order of the schema and the page.
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
// True means both directions.
Words<bool> direction_words();
// True means a loopback.
Words<bool> idle_words();
Words<run::OnFailure> on_failure_words();

}  // namespace railgauge::plan

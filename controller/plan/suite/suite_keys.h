// THE table of a suite's keys: each key with its kind of value, its bounds and its help. The reader
// takes allowed keys and bounds from the table; suite_reference.cc renders suites/schema.json and
// the reference page from it. A new key needs a member in its struct and a row here that names the
// member; only a value of another kind needs its own reader. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {

// The kind of value that a key takes. read_scalar() and suite_stage.cc read values,
// suite_reference.cc renders schema and description.
enum class ValueKind {
  // Letters, digits, and _ - .
  kWord,
  // One scalar of at most `most` bytes.
  kText,
  // A whole number from `least` to `most`.
  kCount,
  // A number from `least` to `most`.
  kNumber,
  // A duration with its unit (90s, 5min) or 0, at most `most` seconds.
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

// The member that receives a key's value, so that a key with a row needs no line in a reader.
// monostate: the key has its own reader.
using KeyField =
    std::variant<std::monostate, std::uint64_t Suite::*, bool Stage::*, std::uint32_t Stage::*,
                 std::optional<double> Stage::*, run::OnFailure Stage::*, bool Placement::*,
                 std::uint32_t Placement::*, PairChoice Placement::*,
                 Placement::Leaves Placement::*, RailChoice Placement::*, bool run::RoundPolicy::*,
                 std::uint32_t run::RoundPolicy::*, double run::RoundPolicy::*,
                 std::uint32_t run::StopBudget::*, double run::StopBudget::*, bool run::Kindness::*,
                 std::uint32_t run::Kindness::*, double run::Kindness::*>;

// A word of a choice, and the number of the enumerator or bool for it; 0 when the key's reader
// interprets the word.
struct ChoiceWord {
  ChoiceWord(const char* text) : word(text) {}
  template <class Meaning>
  ChoiceWord(const char* text, Meaning meant) : word(text), meaning(static_cast<int>(meant)) {}
  std::string word;
  int meaning = 0;
};

// One row. Fields that a kind does not use are empty.
struct SuiteKey {
  std::string name;
  bool required = false;
  ValueKind kind = ValueKind::kOther;
  // Lower bound of kCount and kNumber.
  double least = 0;
  // Upper bound of kCount and kNumber, seconds of kDuration (0: kMaxSuiteSeconds), bytes of kText,
  // elements of kList; 0: not stated here.
  double most = 0;
  // Words of kChoice.
  std::vector<ChoiceWord> words{};
  // The definition of kMapping and kList; words of the page for the value of kOther.
  std::string of{};
  // Members of a JSON schema object, for kOther.
  std::string schema{};
  // One line, without quotation marks.
  std::string help{};
  // Set only for kCount, kNumber, kDuration, kBoolean and kChoice.
  KeyField field{};
  // The default in the schema and the page, for a row without a field; "": none is shown.
  std::string shown_default{};
};

// The rows of one mapping. `name` is the name of the mapping's definition in the schema.
struct KeyTable {
  KeyTable(std::string_view table_name, std::string table_help, std::vector<SuiteKey> rows,
           std::string table_rule = {});
  // Returns the row of a key. A key without a row is a programmer error.
  [[nodiscard]] const SuiteKey& row(std::string_view key) const;

  std::string_view name;
  std::string help;
  std::vector<SuiteKey> keys;
  // A further member of the schema's definition; "": none.
  std::string rule;
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

// One table for each mapping of a suite.
extern const KeyTable kSuiteKeys;
extern const KeyTable kMetadataKeys;
extern const KeyTable kNightKeys;
extern const KeyTable kProveKeys;
extern const KeyTable kPreflightKeys;
extern const KeyTable kRoundsKeys;
extern const KeyTable kStopKeys;
extern const KeyTable kKindnessKeys;
extern const KeyTable kBoundsKeys;
extern const KeyTable kStageKeys;
extern const KeyTable kPlacementKeys;
extern const KeyTable kLimitKeys;
// Returns all tables in the order of the schema and the page.
std::vector<const KeyTable*> all_key_tables();

// The texts around the tables of one language.
struct SchemaHead {
  std::string title{};
  std::string description{};
  // The name of the table of the whole document.
  std::string root{};
  // Definitions beside the tables, each a line of JSON without its comma.
  std::vector<std::string> definitions{};
};
// Renders a JSON Schema, draft 2020-12, one line for each key.
std::string schema_of(const SchemaHead& head, std::span<const KeyTable* const> tables);
// Renders Markdown: `head`, then a section with a table for each of `tables`.
std::string key_page(std::string head, std::span<const KeyTable* const> tables);

// Renders the text of suites/schema.json: JSON Schema, draft 2020-12, one line for each key.
std::string suite_schema();
// Renders the text of deploy/docs/reference/suite-keys.md: a table for each mapping of a suite.
std::string suite_key_page();

// Longest duration that a suite may state: one week.
inline constexpr double kMaxSuiteSeconds = 7 * 24 * 3600.0;

// Adds a problem when the value is not the version `wanted`: older versions are not read.
void read_version(const YamlValue& value, std::uint32_t wanted);
// Parses "40Gb/s" (bits) or "5GB/s" (bytes) into bytes per second. kInvalidArgument: another text.
Result<double> parse_rate(std::string_view text);

// Reads a kCount, kNumber, kDuration (in seconds), kBoolean (0 or 1) or kChoice (its meaning).
// Absent, with a problem, when the row does not allow the value. Another kind is a programmer
// error.
std::optional<double> read_scalar(const YamlValue& value, const SuiteKey& row);

// Reads a mapping with the keys of its table.
YamlMap map_of(const YamlValue& value, const KeyTable& table);

// Reads the text of `key`, bounded by the bytes of its row; "" when the key is absent or has a
// problem. `wanted` completes "must be ...".
std::string read_text(const YamlMap& map, const KeyTable& table, std::string_view key,
                      std::string_view wanted);

// Sets `to` to the value of `key` when `map` has the key and its row of `table` allows the value.
template <class To>
void read_key(const YamlMap& map, const KeyTable& table, std::string_view key, To& to) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return;
  if (const auto figure = read_scalar(*value, table.row(key))) to = static_cast<To>(*figure);
}

// Sets each member of `to` that a row of `table` names, as read_key() does.
template <class To>
void read_fields(const YamlMap& map, const KeyTable& table, To& to) {
  for (const SuiteKey& key : table.keys)
    std::visit(
        [&](auto field) {
          if constexpr (std::is_invocable_v<decltype(field), To&>)
            read_key(map, table, key.name, to.*field);
        },
        key.field);
}

}  // namespace railgauge::plan

// The schema for editors and the page of suite keys, both rendered from THE table in suite_keys.cc.
// Equal text on every call.
#include "controller/plan/suite/suite_keys.h"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

// Words as JSON strings, joined by commas.
std::string quoted_list(const std::vector<std::string>& words) {
  return words.empty() ? "" : fmt::format("\"{}\"", fmt::join(words, "\", \""));
}

std::vector<std::string> words_of(const SuiteKey& key) {
  std::vector<std::string> words;
  for (const ChoiceWord& each : key.words) words.push_back(each.word);
  return words;
}

// A JSON schema reference to a definition.
std::string reference_to(std::string_view definition) {
  return fmt::format("\"$ref\": \"#/$defs/{}\"", definition);
}

// The schema's members for the value of one key, without its description.
std::string value_schema(const SuiteKey& key) {
  switch (key.kind) {
    case ValueKind::kWord:
      return reference_to("word");
    case ValueKind::kText:
      return key.most == 0 ? "\"type\": \"string\""
                           : fmt::format("\"type\": \"string\", \"maxLength\": {:.0f}", key.most);
    case ValueKind::kCount:
      return fmt::format("\"type\": \"integer\", \"minimum\": {:.0f}, \"maximum\": {:.0f}",
                         key.least, key.most);
    case ValueKind::kNumber:
      return fmt::format("\"type\": \"number\", \"minimum\": {:g}, \"maximum\": {:g}", key.least,
                         key.most);
    case ValueKind::kDuration:
      return reference_to("duration");
    case ValueKind::kBoolean:
      return "\"type\": \"boolean\"";
    case ValueKind::kChoice:
      return fmt::format("\"enum\": [{}]", quoted_list(words_of(key)));
    case ValueKind::kMapping:
      return reference_to(key.of);
    case ValueKind::kList:
      return fmt::format("\"type\": \"array\", \"minItems\": 1,{} \"items\": {{{}}}",
                         key.most == 0 ? "" : fmt::format(" \"maxItems\": {:.0f},", key.most),
                         reference_to(key.of));
    case ValueKind::kOther:
      return key.schema;
  }
  return "";
}

// Describes a key's value for people, in the page's column "value".
std::string value_words(const SuiteKey& key) {
  switch (key.kind) {
    case ValueKind::kWord:
      return "word: letters, digits, `_ - .`, at most 64";
    case ValueKind::kText:
      return key.most == 0 ? "text" : fmt::format("text of at most {:.0f} bytes", key.most);
    case ValueKind::kCount:
      return fmt::format("whole number, {:.0f} to {:.0f}", key.least, key.most);
    case ValueKind::kNumber:
      return fmt::format("number, {:g} to {:g}", key.least, key.most);
    case ValueKind::kDuration:
      return "duration: `90s`, `5min`, `0`";
    case ValueKind::kBoolean:
      return "`true` or `false`";
    case ValueKind::kChoice:
      return fmt::format("`{}`", fmt::join(words_of(key), "`, `"));
    case ValueKind::kMapping:
      return fmt::format("mapping, see `{}`", key.of);
    case ValueKind::kList:
      return fmt::format("list of `{}`", key.of);
    case ValueKind::kOther:
      return key.of.empty() ? "see schema" : key.of;
  }
  return "";
}

template <class To, class Value>
std::string default_text(const SuiteKey& key, Value To::*field) {
  const Value value = To().*field;
  if constexpr (std::is_same_v<Value, std::optional<double>>) {
    return "";
  } else if (key.kind == ValueKind::kChoice) {
    const auto found = std::ranges::find(key.words, static_cast<int>(value), &ChoiceWord::meaning);
    return found == key.words.end() ? "" : found->word;
  } else if constexpr (!std::is_enum_v<Value>) {
    if (static_cast<double>(value) < key.least) return "";  // a word of the member's own
    return fmt::format("{}{}", value, key.kind == ValueKind::kDuration ? "s" : "");
  }
  return "";
}

// The value that the member of a row has before it is read; "": none. A key that the table's rule
// asks for has no default.
std::string default_of(const KeyTable& table, const SuiteKey& key) {
  if (table.rule.find('"' + key.name + '"') != std::string::npos) return "";
  return std::visit(
      [&]<class Field>(Field field) -> std::string {
        if constexpr (std::is_same_v<Field, std::monostate>) {
          return key.shown_default;
        } else {
          return default_text(key, field);
        }
      },
      key.field);
}

// The definition of one mapping, one line for each key.
std::string table_schema(const KeyTable& table) {
  std::vector<std::string> properties;
  for (const SuiteKey& key : table.keys) {
    const bool is_text = key.kind != ValueKind::kCount && key.kind != ValueKind::kNumber &&
                         key.kind != ValueKind::kBoolean;
    std::string value = default_of(table, key);
    // A default in words is for the page alone.
    if (key.kind == ValueKind::kCount && !parse_number(value)) value.clear();
    const char* quote = is_text ? "\"" : "";
    properties.push_back(
        fmt::format("        \"{}\": {{{}{}{}}}", key.name, value_schema(key),
                    value.empty() ? "" : fmt::format(", \"default\": {0}{1}{0}", quote, value),
                    key.help.empty() ? "" : fmt::format(", \"description\": \"{}\"", key.help)));
  }
  return fmt::format(
      "    \"{}\": {{\n      \"type\": \"object\",\n      \"additionalProperties\": false,\n"
      "{}{}{}      \"properties\": {{\n{}\n      }}\n    }}",
      table.name,
      table.required.empty()
          ? ""
          : fmt::format("      \"required\": [{}],\n", quoted_list(table.required)),
      table.rule.empty() ? "" : "      " + table.rule + ",\n",
      table.help.empty() ? "" : fmt::format("      \"description\": \"{}\",\n", table.help),
      fmt::join(properties, ",\n"));
}

}  // namespace

std::string schema_of(const SchemaHead& head, std::span<const KeyTable* const> tables) {
  std::vector<std::string> definitions;
  for (const std::string& line : head.definitions) definitions.push_back("    " + line);
  for (const KeyTable* table : tables) definitions.push_back(table_schema(*table));
  return fmt::format(R"({{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "{}",
  "description": "{}",
  {},
  "$defs": {{
{}
  }}
}}
)",
                     head.title, head.description, reference_to(head.root),
                     fmt::join(definitions, ",\n"));
}

std::string key_page(std::string head, std::span<const KeyTable* const> tables) {
  std::string page = std::move(head);
  for (const KeyTable* table : tables) {
    page += fmt::format("\n## {}\n\n", table->name);
    if (!table->help.empty()) page += table->help + ".\n\n";
    page += "| key | required | value | default | meaning |\n|---|---|---|---|---|\n";
    for (const SuiteKey& key : table->keys)
      page += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name, key.required ? "yes" : "no",
                          value_words(key), default_of(*table, key), key.help);
  }
  return page;
}

std::string suite_schema() {
  const SchemaHead head{
      .title = fmt::format("Railgauge suite, version {}", kSuiteVersion),
      .description =
          "Kernels, placements and strictness of a run. For editors; `railgauge suites check` "
          "knows the kernels too. deploy/docs/reference/suite-keys.md lists every key.",
      .root = "suite",
      .definitions = {
          R"("word": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$"})",
          R"("duration": {"type": ["string", "number"], "description": "90s, 5min, 0"})",
          R"("value": {"type": ["string", "number", "boolean", "array"]})"}};
  return schema_of(head, all_key_tables());
}

std::string suite_key_page() {
  return key_page(
      "# Suite keys\n\nRendered from the table in `controller/plan/suite/suite_keys.cc`; a test "
      "compares the two.\n`suites/README.md` has an example and the rules that need more than a "
      "line.\n",
      all_key_tables());
}

}  // namespace railgauge::plan

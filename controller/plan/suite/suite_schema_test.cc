// The schema for editors and the page of keys are what the reader's table renders;
// RAILGAUGE_UPDATE_GOLDEN=1 writes both anew. JSON is YAML, so the reader's own parser reads it.
#include <cctype>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "controller/plan/suite/suite_keys.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAreArray;
using testing::UnorderedElementsAreArray;

YAML::Node definitions() { return YAML::LoadFile("suites/schema.json")["$defs"]; }

std::vector<std::string> texts_of(const YAML::Node& list) {
  std::vector<std::string> out;
  for (const auto& one : list) out.push_back(one.as<std::string>());
  return out;
}

std::vector<std::string> words_of(const KeyTable& table, std::string_view key) {
  std::vector<std::string> out;
  for (const ChoiceWord& each : table.row(key).words) out.push_back(each.word);
  return out;
}

TEST(SuiteReference, SchemaAndPageAreRenderedFromTheTable) {
  expect_file("suites/schema.json", suite_schema());
  expect_file("deploy/docs/reference/suite-keys.md", suite_key_page());
}

TEST(SuiteSchema, HasEveryKeyOfTheReadersTablesAndNoOther) {
  const YAML::Node all = definitions();
  for (const KeyTable* table : all_key_tables()) {
    const YAML::Node definition = all[std::string(table->name)];
    ASSERT_TRUE(definition.IsMap()) << table->name;
    EXPECT_EQ(definition["additionalProperties"].as<std::string>(), "false") << table->name;
    EXPECT_THAT(texts_of(definition["required"]), UnorderedElementsAreArray(table->required))
        << table->name;
    std::vector<std::string> keys;
    for (const auto& property : definition["properties"])
      keys.push_back(property.first.as<std::string>());
    std::vector<std::string> known = table->required;
    known.insert(known.end(), table->optional.begin(), table->optional.end());
    EXPECT_THAT(keys, UnorderedElementsAreArray(known)) << table->name;
  }
}

// Words that stand between backticks: `stages[].name` has stages and name, `p99.9` is one.
std::set<std::string> words_in_code(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  bool in_code = false;
  const auto take = [&] {
    words.insert(word);
    for (std::size_t dot = word.find('.'); dot != std::string::npos; dot = word.find('.')) {
      words.insert(word.substr(0, dot));
      words.insert(word = word.substr(dot + 1));
    }
    word.clear();
  };
  for (const char letter : text) {
    if (letter == '`') in_code = !in_code;
    if (in_code &&
        (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.'))
      word += letter;
    else
      take();
  }
  return words;
}

TEST(SuiteManual, HasEveryKeyOfTheReader) {
  std::ifstream file("suites/README.md");
  const auto words = words_in_code({std::istreambuf_iterator<char>(file), {}});
  ASSERT_FALSE(words.contains("no_such_key"));
  for (const KeyTable* table : all_key_tables())
    for (const auto& keys : {table->required, table->optional})
      for (const auto& key : keys)
        EXPECT_TRUE(words.contains(std::string(key))) << table->name << ": " << key;
}

TEST(SuiteSchema, EveryMappingWithFixedKeysHasATable) {
  std::set<std::string> tables;
  for (const KeyTable* table : all_key_tables()) tables.emplace(table->name);
  for (const auto& definition : definitions())
    if (definition.second["properties"]) {
      EXPECT_TRUE(tables.contains(definition.first.as<std::string>()))
          << definition.first.as<std::string>();
    }
}

TEST(SuiteSchema, HasTheReadersWords) {
  const YAML::Node all = definitions();
  const YAML::Node placement = all["placement"]["properties"];
  EXPECT_THAT(texts_of(placement["pairs"]["enum"]),
              ElementsAreArray(words_of(kPlacementKeys, "pairs")));
  EXPECT_THAT(texts_of(placement["group"]["enum"]),
              ElementsAreArray(words_of(kPlacementKeys, "group")));
  EXPECT_THAT(texts_of(placement["leaves"]["enum"]),
              ElementsAreArray(words_of(kPlacementKeys, "leaves")));
  EXPECT_THAT(texts_of(placement["rails"]["enum"]),
              ElementsAreArray(words_of(kPlacementKeys, "rails")));
  const YAML::Node stage = all["stage"]["properties"];
  EXPECT_THAT(texts_of(stage["on_failure"]["enum"]),
              ElementsAreArray(words_of(kStageKeys, "on_failure")));
  const auto rules = stop_rule_parameters();
  EXPECT_THAT(texts_of(stage["precision"]["propertyNames"]["enum"]),
              ElementsAreArray(rules.begin(), rules.end()));
}

}  // namespace
}  // namespace railgauge::plan

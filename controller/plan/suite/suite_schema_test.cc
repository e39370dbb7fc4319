// The schema for editors and the page of keys are what the reader's table renders;
// RAILGAUGE_UPDATE_GOLDEN=1 writes both anew. JSON is YAML, so the reader's own parser reads it.
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

// The schema for editors and the page are what the reader's tables render;
// RAILGAUGE_UPDATE_GOLDEN=1 writes both anew. JSON is YAML, so the suites' reader reads it.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "agent/fleet/scenario/scenario.h"
#include "agent/fleet/scenario/scenario_keys.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

constexpr const char* kSchema = "agent/fleet/scenario/schema.json";

std::vector<std::string> texts(const YAML::Node& list) {
  std::vector<std::string> out;
  for (const auto& one : list) out.push_back(one.as<std::string>());
  return out;
}

TEST(ScenarioReference, SchemaAndPageAreRenderedFromTheTables) {
  expect_file(kSchema, scenario_schema());
  expect_file("deploy/docs/reference/scenarios.md", scenario_page());
}

TEST(ScenarioSchema, HasEveryKeyOfTheReadersTablesAndNoOther) {
  const YAML::Node all = YAML::LoadFile(kSchema)["$defs"];
  std::set<std::string> tables;
  for (const plan::KeyTable* table : scenario_tables()) {
    tables.emplace(table->name);
    const YAML::Node definition = all[std::string(table->name)];
    ASSERT_TRUE(definition.IsMap()) << table->name;
    EXPECT_EQ(definition["additionalProperties"].as<std::string>(), "false") << table->name;
    EXPECT_THAT(texts(definition["required"]), UnorderedElementsAreArray(table->required));
    std::vector<std::string> keys;
    for (const auto& property : definition["properties"])
      keys.push_back(property.first.as<std::string>());
    std::vector<std::string> known = table->required;
    known.insert(known.end(), table->optional.begin(), table->optional.end());
    EXPECT_THAT(keys, UnorderedElementsAreArray(known)) << table->name;
  }
  for (const auto& definition : all)
    if (definition.second["properties"]) {
      EXPECT_TRUE(tables.contains(definition.first.as<std::string>()));
    }
}

// The parser of YAML accepts more.
TEST(ScenarioSchema, IsJson) {
  google::protobuf::Struct document;
  const auto parsed = google::protobuf::util::JsonStringToMessage(scenario_schema(), &document);
  EXPECT_TRUE(parsed.ok()) << parsed.ToString();
}

TEST(ScenarioSchema, HasTheKindsOfTheReader) {
  const YAML::Node all = YAML::LoadFile(kSchema)["$defs"];
  for (const auto& [table, kinds] :
       {std::pair{"noise", &noise_kinds()}, std::pair{"fault", &fault_kinds()},
        std::pair{"agent", &agent_kinds()}}) {
    std::vector<std::string> known;
    for (const KindKeys& each : *kinds) known.push_back(each.kind);
    EXPECT_THAT(texts(all[table]["properties"]["kind"]["enum"]), UnorderedElementsAreArray(known));
  }
}

// A document that has every key of the tables, so that a key that only the table knows would be
// refused as having no effect.
TEST(ScenarioPage, ItsExampleIsAScenario) {
  const std::string page = scenario_page();
  const std::string fence = "```yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const auto read = read_scenario(page.substr(begin, page.find("```", begin) - begin), "page.yaml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->faults.size() + read->changes.size() + read->jobs.size(), 3U);
  EXPECT_THAT(page, HasSubstr("| `pair` | `node`, `to_node` |"));
}

}  // namespace
}  // namespace railgauge::fleet

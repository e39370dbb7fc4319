// THE tables of a scenario's keys. The reader takes allowed keys and bounds from them; schema.json
// beside this file and deploy/docs/reference/scenarios.md are rendered from them. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/suite/suite_keys.h"

namespace railgauge::fleet {

extern const plan::KeyTable kScenarioKeys;
extern const plan::KeyTable kNameKeys;
extern const plan::KeyTable kFabricKeys;
extern const plan::KeyTable kClassKeys;
extern const plan::KeyTable kVersionKeys;
extern const plan::KeyTable kSettingKeys;
extern const plan::KeyTable kNoiseKeys;
extern const plan::KeyTable kDayKeys;
extern const plan::KeyTable kFaultKeys;
extern const plan::KeyTable kChangeKeys;
extern const plan::KeyTable kEffectKeys;
extern const plan::KeyTable kLossKeys;
extern const plan::KeyTable kAgentKeys;
extern const plan::KeyTable kJobKeys;
// All of them, in the order of the schema and the page.
std::vector<const plan::KeyTable*> scenario_tables();

// Most elements of each list of a scenario.
inline constexpr double kMaxListed = 256;
inline constexpr double kMaxClasses = 32;
inline constexpr double kMaxNamed = 16;

// Keys that one kind of a table with kinds takes, beside those that all its kinds take.
struct KindKeys {
  std::string kind{};
  std::vector<std::string> required{};
  std::vector<std::string> optional{};
};
const std::vector<KindKeys>& noise_kinds();
const std::vector<KindKeys>& fault_kinds();
const std::vector<KindKeys>& agent_kinds();

// Renders agent/fleet/scenario/schema.json.
std::string scenario_schema();
// Renders deploy/docs/reference/scenarios.md.
std::string scenario_page();

}  // namespace railgauge::fleet

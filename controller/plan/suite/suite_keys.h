// THE tables of what a suite may say: the reader asks them, and suites/schema.json is held against
// them by a test. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/plan/suite/suite.h"

namespace railgauge::plan {

// A mapping's keys. `name` is that of its definition in the schema.
struct KeyTable {
  std::string_view name;
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
Words<run::OnFailure> on_failure_words();

}  // namespace railgauge::plan

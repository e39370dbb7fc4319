#include "controller/plan/suite/suite_keys.h"

#include <array>

namespace railgauge::plan {

const KeyTable& suite_keys() {
  static const KeyTable table{"suite",
                              {"version", "metadata", "stages"},
                              {"seed", "slice", "night", "preflight", "rounds", "bounds"}};
  return table;
}

const KeyTable& night_keys() {
  static const KeyTable table{"night", {"number", "nodes"}, {}};
  return table;
}

const KeyTable& metadata_keys() {
  static const KeyTable table{"metadata", {"name"}, {"summary", "description", "contact"}};
  return table;
}

const KeyTable& preflight_keys() {
  static const KeyTable table{"preflight", {"require"}, {"allow_unknown"}};
  return table;
}

const KeyTable& rounds_keys() {
  static const KeyTable table{
      "rounds",
      {},
      {"quorum", "straggler_factor", "straggler_slack", "deadline", "settle", "max_attempts",
       "max_tasks", "max_tasks_per_leaf", "drill_down", "stop", "kindness"}};
  return table;
}

const KeyTable& stop_keys() {
  static const KeyTable table{"stop", {}, {"failures", "failed_share", "share_after"}};
  return table;
}

const KeyTable& kindness_keys() {
  static const KeyTable table{"kindness",
                              {},
                              {"exclusive", "bandwidth_tasks_per_leaf", "cross_leaf_share",
                               "max_collective_nodes", "wait"}};
  return table;
}

const KeyTable& bounds_keys() {
  static const KeyTable table{"bounds", {}, {"rate", "median", "p90", "p99", "p99.9"}};
  return table;
}

const KeyTable& stage_keys() {
  static const KeyTable table{
      "stage",
      {"kernel", "placement"},
      {"name", "profile", "parameters", "precision", "vary", "repetitions", "limits", "time_budget",
       "on_failure", "deadline_seconds", "raw_samples"}};
  return table;
}

const KeyTable& placement_keys() {
  static const KeyTable table{
      "placement",
      {},
      {"pairs", "group", "local", "loopback", "endpoint", "each", "file", "matchings", "leaves",
       "rails", "rails_together", "directions", "strict_class", "idle", "slice"}};
  return table;
}

const KeyTable& limit_keys() {
  static const KeyTable table{"limit", {"metric"}, {"size", "floor", "ceiling"}};
  return table;
}

std::vector<const KeyTable*> all_key_tables() {
  return {&suite_keys(),  &metadata_keys(),  &night_keys(),    &preflight_keys(),
          &rounds_keys(), &stop_keys(),      &kindness_keys(), &bounds_keys(),
          &stage_keys(),  &placement_keys(), &limit_keys()};
}

std::span<const std::string> stop_rule_parameters() {
  static const std::array<std::string, 6> names{"precision",   "time_cap",   "min_samples",
                                                "max_samples", "iterations", "duration"};
  return names;
}

Words<PairChoice> pair_words() {
  static constexpr std::pair<std::string_view, PairChoice> kWords[]{{"all", PairChoice::kAll},
                                                                    {"quick", PairChoice::kQuick},
                                                                    {"ring", PairChoice::kRing},
                                                                    {"halves", PairChoice::kHalves},
                                                                    {"custom", PairChoice::kFile}};
  return kWords;
}

Words<Placement::Leaves> leaves_words() {
  static constexpr std::pair<std::string_view, Placement::Leaves> kWords[]{
      {"any", Placement::Leaves::kAny},
      {"within", Placement::Leaves::kWithin},
      {"across", Placement::Leaves::kAcross}};
  return kWords;
}

Words<RailChoice> rail_words() {
  static constexpr std::pair<std::string_view, RailChoice> kWords[]{{"same", RailChoice::kSame},
                                                                    {"cross", RailChoice::kCross}};
  return kWords;
}

Words<PlacementKind> group_words() {
  static constexpr std::pair<std::string_view, PlacementKind> kWords[]{
      {"all", PlacementKind::kGroup},
      {"node", PlacementKind::kNode},
      {"leaf", PlacementKind::kLeaf}};
  return kWords;
}

Words<run::OnFailure> on_failure_words() {
  static constexpr std::pair<std::string_view, run::OnFailure> kWords[]{
      {"continue", run::OnFailure::kContinue},
      {"stop_stage", run::OnFailure::kStopStage},
      {"stop_run", run::OnFailure::kStopRun}};
  return kWords;
}

}  // namespace railgauge::plan

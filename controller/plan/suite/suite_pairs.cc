#include "controller/plan/suite/suite_pairs.h"

#include <array>

#include <fmt/format.h>

#include "controller/plan/suite/suite_placement.h"
#include "controller/plan/suite/suite_values.h"

namespace railgauge::plan {
namespace {

// Keys that mean something only beside pairs.
constexpr std::array<std::string_view, 9> kPairKeys{"file",         "matchings",      "leaves",
                                                    "rails",        "rails_together", "directions",
                                                    "strict_class", "idle",           "slice"};

void read_file(const YamlMap& map, Placement& placement) {
  const YamlValue* file = map.find("file");
  if (file == nullptr) {
    if (placement.pairs == PairChoice::kFile)
      map.find("pairs")->problem("custom wants file: the list's name in the suite folder");
    return;
  }
  if (placement.pairs != PairChoice::kFile) file->key_problem("only with pairs: custom");
  const auto name = file->text("a file's name");
  if (name && (!is_word(*name) || name->starts_with('.')))
    file->problem("must be a name in the controller's suite folder, without a path");
  else if (name)
    placement.pairs_file = *name;
}

void read_matchings(const YamlMap& map, Placement& placement) {
  const YamlValue* matchings = map.find("matchings");
  if (matchings == nullptr) return;
  if (placement.pairs != PairChoice::kQuick) matchings->key_problem("only with pairs: quick");
  read_key(map, placement_keys(), "matchings", placement.matchings);
}

void read_rails(const YamlMap& map, const KernelInfo* kernel, Placement& placement) {
  const YamlValue* together = map.find("rails_together");
  const YamlValue* rails = map.find("rails");
  if (rails == nullptr) {
    if (together != nullptr) together->key_problem("only with rails");
    return;
  }
  placement.rails = read_one_of(*rails, rail_words()).value_or(RailChoice::kNone);
  read_key(map, placement_keys(), "rails_together", placement.rails_together);
  if (!placement.endpoint.empty() || !placement.each.empty())
    rails->key_problem("excludes endpoint and each: it chooses the endpoints itself");
  if (kernel == nullptr) return;
  if (kernel->endpoint_kind() == "none")
    rails->key_problem(fmt::format("{} runs on no endpoint, so on no rail", kernel->name()));
}

// Reads keys that are valid only where the planner makes the rounds.
void read_schedule(const YamlMap& map, Placement& placement) {
  const bool is_planned =
      placement.pairs == PairChoice::kAll || placement.pairs == PairChoice::kQuick;
  if (const YamlValue* slice = map.find("slice")) {
    if (placement.pairs != PairChoice::kAll) slice->key_problem("only with pairs: all");
    read_key(map, placement_keys(), "slice", placement.slice_of);
  }
  if (const YamlValue* strict = map.find("strict_class")) {
    if (!is_planned) strict->key_problem("only with pairs: all and pairs: quick");
    read_key(map, placement_keys(), "strict_class", placement.strict_class);
  }
}

void read_idle(const YamlMap& map, const KernelInfo* kernel, Placement& placement) {
  static constexpr std::pair<std::string_view, bool> kWords[]{{"rest", false}, {"loopback", true}};
  const YamlValue* idle = map.find("idle");
  if (idle == nullptr) return;
  placement.idle_loopback = read_one_of<bool>(*idle, kWords).value_or(false);
  if (!placement.idle_loopback) return;
  if (placement.pairs != PairChoice::kAll) idle->key_problem("only with pairs: all");
  if (placement.rails != RailChoice::kNone || !placement.each.empty())
    idle->key_problem("excludes rails and each: a loopback is on one port");
  if (kernel != nullptr && kernel->endpoint_kind() != "nic")
    idle->key_problem(
        fmt::format("is on a NIC's port; {} runs on {}", kernel->name(), kernel->endpoint_kind()));
}

}  // namespace

void read_pairs(const YamlMap& map, const KernelInfo* kernel, Stage& stage) {
  Placement& placement = stage.placement;
  const YamlValue* pairs = map.find("pairs");
  if (pairs == nullptr) {
    for (const std::string_view key : kPairKeys)
      if (const YamlValue* found = map.find(key)) found->key_problem("only with pairs");
    return;
  }
  placement.pairs = read_one_of(*pairs, pair_words()).value_or(PairChoice::kAll);
  read_file(map, placement);
  read_matchings(map, placement);
  read_rails(map, kernel, placement);
  read_schedule(map, placement);
  read_idle(map, kernel, placement);
  if (const YamlValue* leaves = map.find("leaves")) {
    if (placement.pairs != PairChoice::kAll && placement.pairs != PairChoice::kQuick)
      leaves->key_problem("only with pairs: all and pairs: quick");
    placement.leaves = read_one_of(*leaves, leaves_words()).value_or(Placement::Leaves::kAny);
  }
  static constexpr std::pair<std::string_view, bool> kDirections[]{{"one", false}, {"both", true}};
  if (const YamlValue* directions = map.find("directions"))
    placement.both_directions = read_one_of<bool>(*directions, kDirections).value_or(false);
}

}  // namespace railgauge::plan

#include "controller/plan/suite/suite_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite_keys.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

// `file` belongs to `pairs: custom`, and only to it.
void read_file(const YamlMap& map, Placement& placement) {
  const YamlValue* file = map.find("file");
  if (file == nullptr) {
    if (placement.pairs == PairChoice::kFile)
      map.find("pairs")->problem("custom wants file: the list's name in the suite folder");
    return;
  }
  const auto name = file->text("a file's name");
  if (name && (!is_word(*name) || name->starts_with('.')))
    file->problem("must be a name in the controller's suite folder, without a path");
  else if (name)
    placement.pairs_file = *name;
}

// `rails` chooses the endpoints, so it excludes the other keys that do.
void check_rails(const YamlMap& map, const KernelInfo* kernel, const Placement& placement) {
  const YamlValue* rails = map.find("rails");
  if (rails == nullptr) return;
  if (!placement.endpoint.empty() || !placement.each.empty())
    rails->key_problem("excludes endpoint and each: it chooses the endpoints itself");
  if (kernel != nullptr && kernel->endpoint_kind() == "none")
    rails->key_problem(fmt::format("{} runs on no endpoint, so on no rail", kernel->name()));
}

// `idle: loopback` needs a kernel on a NIC and a round that is not filtered.
void check_idle(const YamlMap& map, const KernelInfo* kernel, const Placement& placement) {
  if (!placement.idle_loopback) return;
  const YamlValue* idle = map.find("idle");
  if (placement.pairs != PairChoice::kAll) idle->key_problem("only with pairs: all");
  if (placement.rails != RailChoice::kNone || !placement.each.empty())
    idle->key_problem("excludes rails and each: a loopback is on one port");
  if (kernel != nullptr && kernel->endpoint_kind() != "nic")
    idle->key_problem(
        fmt::format("is on a NIC's port; {} runs on {}", kernel->name(), kernel->endpoint_kind()));
}

// A key that means something only beside some values of other keys.
struct KeyRule {
  std::string_view key;
  bool holds;
  std::string_view problem;
};

// Reads the keys of a placement that choose pairs; call it after kind, `each` and `endpoint`.
void read_pairs(const YamlMap& map, const KernelInfo* kernel, Placement& placement) {
  if (map.find("pairs") == nullptr) {
    // Keys with a field, and `file`, mean something only beside pairs.
    for (const SuiteKey& key : kPlacementKeys.keys)
      if (const YamlValue* found = map.find(key.name);
          found != nullptr && key.name != "together" &&
          (key.field.index() != 0 || key.name == "file"))
        found->key_problem("only with pairs");
    return;
  }
  read_fields(map, kPlacementKeys, placement);
  const bool all = placement.pairs == PairChoice::kAll;
  const bool quick = placement.pairs == PairChoice::kQuick;
  for (const KeyRule& rule :
       {KeyRule{"file", placement.pairs == PairChoice::kFile, "only with pairs: custom"},
        KeyRule{"matchings", quick, "only with pairs: quick"},
        KeyRule{"rails_together", map.find("rails") != nullptr, "only with rails"},
        KeyRule{"slice", all, "only with pairs: all"},
        // The planner makes the rounds of these two alone.
        KeyRule{"strict_class", all || quick, "only with pairs: all and pairs: quick"},
        KeyRule{"leaves", all || quick, "only with pairs: all and pairs: quick"}})
    if (const YamlValue* found = map.find(rule.key); found != nullptr && !rule.holds)
      found->key_problem(std::string(rule.problem));
  read_file(map, placement);
  check_rails(map, kernel, placement);
  check_idle(map, kernel, placement);
}

constexpr std::int64_t kMaxPort = 255;
constexpr std::int64_t kMaxGpu = 255;

// "gpu0" to "gpu255", without leading zeros.
bool is_gpu_name(std::string_view text) {
  const auto number = text.starts_with("gpu") ? parse_integer(text.substr(3)) : parse_integer("-");
  return number && *number >= 0 && *number <= kMaxGpu && text == fmt::format("gpu{}", *number);
}

// Accepts DEV:PORT or gpuN.
void read_endpoint(const YamlValue& value, Stage& stage) {
  const auto text = value.text("DEV:PORT, as in mlx5_0:1, or gpuN");
  if (!text) return;
  if (is_gpu_name(*text)) {
    stage.placement.endpoint = *text;
    return;
  }
  const std::size_t colon = text->rfind(':');
  const auto port = parse_integer(colon == std::string::npos ? "" : text->substr(colon + 1));
  if (!port || *port < 1 || *port > kMaxPort || colon == 0 || !is_word(text->substr(0, colon)))
    return value.problem(
        fmt::format("is {}; must be DEV:PORT, as in mlx5_0:1, port 1 to {}, or gpuN",
                    in_quotes(*text), kMaxPort));
  stage.placement.endpoint = *text;
}

// The GPU is chosen by the kernel's own parameter.
void read_each_on_port(const std::string& text, const YamlValue& value, const KernelInfo* kernel,
                       Stage& stage) {
  stage.placement.each = text;
  if (text == "nic") return;
  if (stage.parameters.contains("gpu"))
    value.problem("chooses the GPU: leave out the parameter gpu");
  if (kernel == nullptr) return;
  const auto& all = kernel->parameters();
  if (std::ranges::find(all, "gpu", &ParameterInfo::name) == all.end())
    value.problem(fmt::format("is {}; {} uses no GPU's memory", text, kernel->name()));
}

// Words that `each` takes with this kind of placement.
std::vector<std::string> words_of(PlacementKind kind) {
  if (kind == PlacementKind::kLoopback) return {"gpu", "nic", "gpu_nic"};
  if (kind == PlacementKind::kGroup) return {"gpu", "nic", "rail"};
  return {"gpu", "nic"};
}

// The allowed words depend on the kind of placement, and must fit the kernel.
void read_each(const YamlValue& value, const KernelInfo* kernel, Stage& stage) {
  const auto text = value.text("gpu or nic");
  if (!text) return;
  const PlacementKind kind = stage.placement.kind;
  const std::vector<std::string> words = words_of(kind);
  if (std::ranges::find(words, *text) == words.end())
    return value.problem(
        fmt::format("is {}; allowed: {}", in_quotes(*text), fmt::join(words, ", ")));
  const bool several_ranks = kind != PlacementKind::kLocal && kind != PlacementKind::kLoopback;
  if (several_ranks && kernel != nullptr && kernel->max_ranks() != 0)
    return value.key_problem(fmt::format(
        "only with local: all or loopback: all, one task for each endpoint of a node; {} has {} "
        "ranks at most",
        kernel->name(), kernel->max_ranks()));
  if (!stage.placement.endpoint.empty())
    return value.key_problem("endpoint names one of a node's endpoints, each takes them all");
  if (kind == PlacementKind::kLoopback) return read_each_on_port(*text, value, kernel, stage);
  const bool placed = kernel != nullptr && places_ranks(*kernel) && *text != "rail";
  if (kernel != nullptr && !placed && kernel->endpoint_kind() != *text &&
      (*text != "rail" || kernel->endpoint_kind() == "none"))
    return value.problem(fmt::format("is {}; {} runs on {}", *text, kernel->name(),
                                     kernel->endpoint_kind() == "none"
                                         ? "no endpoint, once a node: leave out each"
                                         : kernel->endpoint_kind()));
  stage.placement.each = *text;
}

// The endpoints of a node at once: only where they would else be measured in turn.
void read_together(const YamlMap& map, const KernelInfo* kernel, Placement& placement) {
  const YamlValue* together = map.find("together");
  if (together == nullptr) return;
  read_key(map, kPlacementKeys, "together", placement.together);
  if (placement.kind != PlacementKind::kLocal || map.find("each") == nullptr)
    return together->key_problem("only with local: all and each");
  if (kernel == nullptr) return;
  const auto& all = kernel->parameters();
  if (std::ranges::find(all, kBesideParameter, &ParameterInfo::name) == all.end())
    together->key_problem(
        fmt::format("{} has no parameter {}, by which such figures are series of their own",
                    kernel->name(), kBesideParameter));
}

// The kernel must take the number of ranks that the placement gives.
void check_ranks(const YamlValue& value, const KernelInfo& kernel, const Placement& placement) {
  const PlacementKind kind = placement.kind;
  const auto fits = [&](std::uint32_t ranks) {
    return ranks >= kernel.min_ranks() && (kernel.max_ranks() == 0 || ranks <= kernel.max_ranks());
  };
  const bool two = kind == PlacementKind::kPairs || kind == PlacementKind::kLoopback;
  if ((two && !fits(2)) || (kind == PlacementKind::kLocal && !fits(1)))
    value.key_problem(fmt::format(
        "{} runs with {} to {} ranks; pairs and loopback give 2, local 1, group one a node",
        kernel.name(), kernel.min_ranks(),
        kernel.max_ranks() == 0 ? std::string("any number of")
                                : fmt::to_string(kernel.max_ranks())));
}

// The key that says the kind; nullptr without one.
const YamlValue* read_kind(const YamlMap& map, Placement& placement) {
  constexpr std::pair<std::string_view, PlacementKind> kKinds[] = {
      {"pairs", PlacementKind::kPairs},
      {"group", PlacementKind::kGroup},
      {"local", PlacementKind::kLocal},
      {"loopback", PlacementKind::kLoopback}};
  const YamlValue* chosen = nullptr;
  for (const auto& [name, kind] : kKinds) {
    const YamlValue* found = map.find(name);
    if (found == nullptr) continue;
    if (chosen != nullptr)
      found->key_problem("pairs, group, local and loopback exclude each other");
    chosen = found;
    placement.kind = kind;
    // read_pairs() reads the value of `pairs`.
    if (kind != PlacementKind::kPairs) read_key(map, kPlacementKeys, name, placement.kind);
  }
  return chosen;
}

}  // namespace

bool is_word(std::string_view text) {
  return text.size() <= kMaxWordBytes && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

bool places_ranks(const KernelInfo& kernel) {
  const auto& all = kernel.parameters();
  return kernel.endpoint_kind() == "none" &&
         std::ranges::find(all, "process_to_rail", &ParameterInfo::name) != all.end();
}

// Kind first: all other keys depend on it.
void read_placement(const YamlValue& value, const KernelInfo* kernel, Stage& stage) {
  const YamlMap map = map_of(value, kPlacementKeys);
  const YamlValue* chosen = read_kind(map, stage.placement);
  if (chosen == nullptr && value.is_map())
    value.problem("needs one of pairs: all, group: all, local: all, loopback: all");
  if (const YamlValue* endpoint = map.find("endpoint")) read_endpoint(*endpoint, stage);
  if (const YamlValue* each = map.find("each")) read_each(*each, kernel, stage);
  read_pairs(map, kernel, stage.placement);
  read_together(map, kernel, stage.placement);
  if (stage.placement.kind == PlacementKind::kNode && map.find("each") == nullptr)
    chosen->problem("needs each: gpu or each: nic, the ranks of a node");
  if (chosen == nullptr || kernel == nullptr) return;
  check_ranks(*chosen, *kernel, stage.placement);
  // Two ranks on one GPU share it: no port to choose there.
  const bool on_gpu = kernel->endpoint_kind() == "gpu" && stage.placement.each.empty();
  if (stage.placement.kind == PlacementKind::kLoopback && kernel->endpoint_kind() != "nic" &&
      !on_gpu)
    chosen->key_problem(fmt::format("is on a NIC's port, or without each on a GPU; {} runs on {}",
                                    kernel->name(), kernel->endpoint_kind()));
}

}  // namespace railgauge::plan

// Values that several mappings of a scenario have: times, node sets, harms, parts of a stack.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "agent/fleet/scenario/kernel_shapes.h"
#include "agent/fleet/scenario/scenario_reader.h"
#include "controller/plan/topology/node_set.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::fleet {

using plan::KeyTable;
using plan::YamlMap;
using plan::YamlValue;

namespace {

// Days are no unit of durations elsewhere, where no value is so long.
std::optional<double> duration_ns(std::string_view text) {
  if (text.ends_with('d')) {
    const auto days = parse_number(text.substr(0, text.size() - 1));
    return days && *days >= 0 ? std::optional(*days * kNsPerDay) : std::nullopt;
  }
  const auto ns = parse_duration_ns(text);
  return ns ? std::optional(*ns) : std::nullopt;
}

}  // namespace

std::optional<Nanoseconds> read_time(const YamlValue& value,
                                     std::optional<double> begin_unix_seconds) {
  const std::string_view wanted = begin_unix_seconds ? "a time, as in 3d, 90min or 2026-01-08T12:00"
                                                     : "a duration, as in 3d, 90min or 20us";
  const auto text = value.text(wanted);
  if (!text) return std::nullopt;
  std::optional<double> ns = duration_ns(*text);
  if (!ns && begin_unix_seconds)
    if (const auto date = parse_calendar(*text)) ns = (*date - *begin_unix_seconds) * kNsPerSecond;
  if (ns && *ns >= 0 && *ns <= kMaxScenarioDays * kNsPerDay)
    return static_cast<Nanoseconds>(std::llround(*ns));
  value.problem(fmt::format(
      "is {}; must be {}, at most {:.0f}d{}", in_quotes(*text), wanted, kMaxScenarioDays,
      begin_unix_seconds ? fmt::format(" after {}", rfc3339(*begin_unix_seconds)) : ""));
  return std::nullopt;
}

void read_days(const YamlMap& map, std::string_view key, Nanoseconds& to) {
  if (const YamlValue* value = map.find(key))
    if (const auto ns = read_time(*value, std::nullopt)) to = *ns;
}
// The same for a figure that is drawn: nanoseconds as a real number.
void read_days(const YamlMap& map, std::string_view key, double& to_ns) {
  Nanoseconds ns = std::llround(to_ns);
  read_days(map, key, ns);
  to_ns = static_cast<double>(ns);
}

// Absent: from the begin of the scenario, and for ever.
Extent read_extent(const YamlMap& map, const Scenario& scenario) {
  Extent when;
  if (const YamlValue* begin = map.find("begin"))
    when.begin_ns = read_time(*begin, scenario.begin_unix_seconds).value_or(when.begin_ns);
  const YamlValue* end = map.find("end");
  if (end == nullptr) return when;
  const auto ns = read_time(*end, scenario.begin_unix_seconds);
  if (ns && *ns <= when.begin_ns)
    end->problem("is not after begin; allowed: a later time, or no end");
  else if (ns)
    when.end_ns = *ns;
  return when;
}

// A choice has a flag for each node: a lookup is by number, in each task.
NodeChoice read_nodes(const YamlMap& map, const KeyTable& table, const ReadFabric& fabric) {
  NodeChoice out;
  const YamlValue* value = map.find("nodes");
  if (value == nullptr) return out;
  const auto text = value->text("a node set, as in sim[0001-0016]",
                                static_cast<std::size_t>(table.row("nodes").most));
  if (!text) return out;
  const auto selected = plan::select_nodes(*text, fabric.names);
  if (!selected) {
    value->problem(fmt::format("{}; allowed: {} to {}", selected.error().message,
                               fabric.names.front(), fabric.names.back()));
    return out;
  }
  out.chosen.assign(fabric.names.size(), 0);
  for (const std::string& name : *selected)
    if (const auto node = node_of_name(fabric.scenario.fabric, name)) out.chosen[*node] = 1;
  return out;
}

// A family has all its kernels. An unknown name would be a fault without an effect.
KernelChoice read_kernels(const YamlMap& map) {
  KernelChoice out;
  const YamlValue* value = map.find("kernels");
  if (value == nullptr) return out;
  static const std::vector<std::string> known = kernel_words();
  for (const YamlValue& each :
       value->elements("a list of kernels", static_cast<std::size_t>(kMaxNamed)))
    if (auto name = each.text("a kernel or a family, as in nccl or verbs.write_bw")) {
      if (std::ranges::count(known, *name) == 0)
        each.problem(fmt::format(
            "{} is no kernel; allowed: those of railgauge-runner --list, as nccl.all_reduce, or a "
            "family, as nccl{}",
            in_quotes(*name), did_you_mean(*name, known)));
      out.names.push_back(std::move(*name));
    }
  return out;
}

MemoryChoice read_memory(const YamlMap& map, const KeyTable& table, const NodeChoice& nodes,
                         const ReadFabric& fabric) {
  MemoryChoice memory = MemoryChoice::kAny;
  read_key(map, table, "memory", memory);
  if (memory != MemoryChoice::kGpu) return memory;
  for (std::uint32_t node = 0; node < fabric.names.size(); ++node)
    if (nodes.has(node) && fabric.scenario.hardware(node).gpus > 0) return memory;
  map.find("memory")->problem("is gpu, and none of these nodes has a GPU; allowed: any or host");
  return memory;
}

Harm read_harm(const YamlValue& value, const YamlMap& map, const KeyTable& table) {
  Harm harm;
  read_key(map, table, "takes", harm.takes);
  read_key(map, table, "loss", harm.loss);
  read_days(map, "adds", harm.adds_ns);
  read_days(map, "stall", harm.stall_ns);
  read_days(map, "stall_every", harm.stall_every_ns);
  const bool stalls = map.find("stall") != nullptr;
  if (stalls != (map.find("stall_every") != nullptr))
    value.problem("stall and stall_every belong together; allowed: both or none");
  else if (stalls && harm.stall_ns >= harm.stall_every_ns)
    value.problem("stall is not shorter than stall_every; allowed: a shorter one");
  for (const auto& [key, ns] : {std::pair{"adds", harm.adds_ns}, std::pair{"stall", harm.stall_ns}})
    if (const YamlValue* found = map.find(key); found != nullptr && ns <= 0)
      found->problem("is 0, which does nothing; allowed: more");
  if (!stalls && map.find("takes") == nullptr && map.find("adds") == nullptr &&
      map.find("loss") == nullptr)
    value.problem("does nothing; allowed: one or more of takes, adds, loss, stall");
  return harm;
}

namespace {

// Values are kept as text, whatever their kind.
void read_part_keys(const YamlMap& map, std::string_view key, const KeyTable& table,
                    std::map<std::string, std::string>& to) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return;
  const YamlMap parts = map_of(*value, table);
  for (const plan::SuiteKey& row : table.keys) {
    const YamlValue* part = parts.find(row.name);
    if (part == nullptr) continue;
    if (row.kind == plan::ValueKind::kText)
      to[row.name] = read_text(parts, table, row.name, "a text");
    else if (const auto figure = read_scalar(*part, row))
      to[row.name] = fmt::format("{:.0f}", *figure);
  }
}

}  // namespace

// Versions and settings of a class or of a change.
StackParts read_parts(const YamlMap& map) {
  StackParts parts;
  read_part_keys(map, "versions", kVersionKeys, parts.versions);
  read_part_keys(map, "settings", kSettingKeys, parts.settings);
  return parts;
}

// Keys that the kind requires, and keys of other kinds, each named once.
void check_kind(const YamlValue& value, const YamlMap& map, std::span<const KindKeys> kinds) {
  const YamlValue* kind = map.find("kind");
  if (kind == nullptr) return;
  const auto word = kind->text("a kind");
  const auto* const own = word ? row_where(kinds, &KindKeys::kind, *word) : nullptr;
  if (own == nullptr) return;
  for (const std::string& key : own->required)
    if (map.find(key) == nullptr)
      value.problem(fmt::format("lacks the key {}, which kind: {} requires", key, own->kind));
  const auto takes = [](const KindKeys& some, const std::string& key) {
    return std::ranges::count(some.required, key) + std::ranges::count(some.optional, key) > 0;
  };
  std::vector<std::string> checked;
  for (const KindKeys& each : kinds)
    for (const auto* keys : {&each.required, &each.optional})
      for (const std::string& key : *keys) {
        const YamlValue* found = map.find(key);
        if (found == nullptr || takes(*own, key) || std::ranges::count(checked, key) > 0) continue;
        checked.push_back(key);
        std::vector<std::string> with;
        for (const KindKeys& some : kinds)
          if (takes(some, key)) with.push_back(some.kind);
        found->key_problem(
            fmt::format("not with kind: {}; allowed with {}", own->kind, one_of(with)));
      }
}

}  // namespace railgauge::fleet

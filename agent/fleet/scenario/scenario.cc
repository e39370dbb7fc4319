#include "agent/fleet/scenario/scenario.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "agent/fleet/scenario/scenario_reader.h"
#include "controller/plan/suite/whole_file.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

using plan::YamlMap;
using plan::YamlValue;

constexpr std::uint32_t kUsualLeafNodes = 16;
constexpr int kLeastDigits = 4;

int digits_of(const Fabric& fabric) {
  return std::max(kLeastDigits, static_cast<int>(fmt::formatted_size("{}", fabric.nodes)));
}

void read_metadata(const YamlValue& value, Scenario& scenario) {
  const YamlMap map = map_of(value, kNameKeys);
  if (const YamlValue* name = map.find("name"))
    scenario.name = name->text("the scenario's name").value_or("");
  scenario.summary = read_text(map, kNameKeys, "summary", "one line");
}

// A problem at the count that exceeds another.
void check_at_most(const YamlMap& map, std::string_view key, std::uint32_t count,
                   std::string_view of, std::uint32_t most, std::string_view lacking) {
  if (count <= most) return;
  if (const YamlValue* value = map.find(key))
    value->problem(
        fmt::format("{} for {} {} leave {}; allowed: 1 to {}", count, most, of, lacking, most));
}

Fabric read_fabric(const YamlValue& value) {
  Fabric fabric;
  const YamlMap map = map_of(value, kFabricKeys);
  read_key(map, kFabricKeys, "nodes", fabric.nodes);
  fabric.leaves = (fabric.nodes + kUsualLeafNodes - 1) / kUsualLeafNodes;
  for (const auto& [key, to] :
       {std::pair{"rails", &Fabric::rails}, std::pair{"leaves", &Fabric::leaves},
        std::pair{"spines", &Fabric::spines}, std::pair{"pods", &Fabric::pods}})
    read_key(map, kFabricKeys, key, fabric.*to);
  check_at_most(map, "leaves", fabric.leaves, "nodes", fabric.nodes, "a leaf without nodes");
  fabric.leaves = std::min(fabric.leaves, fabric.nodes);
  check_at_most(map, "pods", fabric.pods, "leaves", fabric.leaves, "a pod without leaves");
  fabric.pods = std::min(fabric.pods, fabric.leaves);
  if (const YamlValue* prefix = map.find("prefix")) {
    constexpr std::size_t kMostPrefix = 32;
    const auto text = prefix->text("the beginning of names", kMostPrefix);
    // The number follows it, so that a name ends in no other digit.
    if (text && (!made_of(*text, "-_.") || (text->back() >= '0' && text->back() <= '9')))
      prefix->problem(fmt::format(
          "is {}; allowed: letters, digits and - _ . with no digit at the end", in_quotes(*text)));
    else if (text)
      fabric.prefix = *text;
  }
  return fabric;
}

// Gives each node its class: the one that names it, else the one without a node set.
void read_classes(const YamlValue& value, const ReadFabric& fabric, Scenario& scenario) {
  scenario.classes.clear();
  std::vector<NodeChoice> chosen;
  for (const YamlValue& each :
       value.elements("a list of classes", static_cast<std::size_t>(kMaxClasses)))
    read_class(each, fabric, scenario, chosen);
  if (std::ranges::count_if(chosen, [](const NodeChoice& each) { return each.chosen.empty(); }) > 1)
    return value.problem("has two classes without nodes; allowed: one for the rest");
  std::vector<char> has_class(fabric.names.size(), 0);
  for (const bool with_nodes : {true, false})
    for (std::size_t i = 0; i < chosen.size(); ++i)
      for (std::uint32_t node = 0; node < has_class.size(); ++node) {
        if (chosen[i].chosen.empty() == with_nodes || !chosen[i].has(node)) continue;
        if (has_class[node] == 0)
          scenario.class_of[node] = static_cast<std::uint8_t>(i);
        else if (with_nodes)
          return value.problem(
              fmt::format("{} is in two of them; allowed: one class a node", fabric.names[node]));
        has_class[node] = 1;
      }
  const auto open = std::ranges::find(has_class, 0);
  if (!chosen.empty() && open != has_class.end())
    value.problem(
        fmt::format("{} is in none of them; allowed: one class without nodes for the rest",
                    fabric.names[static_cast<std::size_t>(open - has_class.begin())]));
}

void read_day(const YamlValue& value, Scenario& scenario) {
  Day day;
  const YamlMap map = map_of(value, kDayKeys);
  for (const auto& [key, to] : {std::pair{"from", &Day::from_ns}, std::pair{"to", &Day::to_ns}}) {
    read_days(map, key, day.*to);
    const YamlValue* time = map.find(key);
    if (time != nullptr && static_cast<double>(day.*to) > kNsPerDay)
      time->problem("is after the day's end; allowed: 0h to 24h");
  }
  const YamlValue* to = map.find("to");
  const bool is_whole = day.from_ns == 0 && static_cast<double>(day.to_ns) == kNsPerDay;
  if (to != nullptr && map.find("from") != nullptr && !is_whole &&
      std::fmod(static_cast<double>(day.to_ns - day.from_ns), kNsPerDay) == 0)
    to->problem("is the time of from, so that no hour is of the day; allowed: another time");
  read_key(map, kDayKeys, "takes", day.takes);
  read_key(map, kDayKeys, "noise", day.noise);
  scenario.day = day;
}

template <class Element, class Read>
void read_list(const YamlMap& map, std::string_view key, const ReadFabric& fabric, Read read,
               std::vector<Element>& to) {
  if (const YamlValue* value = map.find(key))
    for (const YamlValue& each :
         value->elements(fmt::format("a list of {}", key), static_cast<std::size_t>(kMaxListed)))
      to.push_back(read(each, fabric));
}

void read_begin(const YamlValue& value, Scenario& scenario) {
  const auto text = value.text("a date, as in 2026-01-05 or 2026-01-05T20:00");
  const auto date = text ? parse_calendar(*text) : std::nullopt;
  if (date && *date > 0 && *date < kMostBeginSeconds)
    scenario.begin_unix_seconds = *date;
  else if (text)
    value.problem(
        fmt::format("is {}; must be a date from 1970 to 2099, as in 2026-01-05 or 2026-01-05T20:00",
                    in_quotes(*text)));
}

void read_root(const YamlValue& root, Scenario& scenario) {
  const YamlMap map = map_of(root, kScenarioKeys);
  if (const YamlValue* version = map.find("version"))
    plan::read_version(*version, kScenarioVersion);
  if (const YamlValue* metadata = map.find("metadata")) read_metadata(*metadata, scenario);
  read_key(map, kScenarioKeys, "seed", scenario.seed);
  if (const YamlValue* begin = map.find("begin")) read_begin(*begin, scenario);
  if (const YamlValue* value = map.find("fabric")) scenario.fabric = read_fabric(*value);
  ReadFabric fabric{.scenario = scenario};
  for (std::uint32_t node = 0; node < scenario.fabric.nodes; ++node)
    fabric.names.push_back(node_name(scenario.fabric, node));
  scenario.class_of.assign(fabric.names.size(), 0);
  scenario.classes.front().nics = scenario.fabric.rails;
  if (const YamlValue* classes = map.find("classes")) read_classes(*classes, fabric, scenario);
  // A problem is noted already; the other lists still look their nodes up.
  if (scenario.classes.empty()) scenario.classes.emplace_back();
  if (const YamlValue* day = map.find("day")) read_day(*day, scenario);
  read_list(map, "noise", fabric, read_noise, scenario.noise);
  read_list(map, "faults", fabric, read_fault, scenario.faults);
  read_list(map, "changes", fabric, read_change, scenario.changes);
  std::ranges::stable_sort(scenario.changes, {},
                           [](const StackChange& change) { return change.when.begin_ns; });
  read_list(map, "losses", fabric, read_loss, scenario.losses);
  read_list(map, "agents", fabric, read_agent, scenario.agents);
  read_list(map, "jobs", fabric, read_job, scenario.jobs);
}

tl::unexpected<Error> wrong(std::string message) {
  return fail(Code::kInvalidArgument, "scenario " + std::move(message));
}

}  // namespace

std::string node_name(const Fabric& fabric, std::uint32_t node) {
  RG_CHECK(node < fabric.nodes);
  return fmt::format("{}{:0{}}", fabric.prefix, node + 1, digits_of(fabric));
}

std::optional<std::uint32_t> node_of_name(const Fabric& fabric, std::string_view name) {
  const auto digits = static_cast<std::size_t>(digits_of(fabric));
  if (!name.starts_with(fabric.prefix) || name.size() != fabric.prefix.size() + digits)
    return std::nullopt;
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + fabric.prefix.size(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > fabric.nodes)
    return std::nullopt;
  return number - 1;
}

std::string leaf_name(std::uint32_t leaf) { return fmt::format("L{}", leaf); }

Result<Scenario> read_scenario(std::string_view text, std::string_view file_name) {
  Scenario scenario;
  scenario.file = file_name;
  const auto problems =
      plan::read_yaml(text, file_name, {.max_bytes = kMaxScenarioBytes},
                      [&scenario](const YamlValue& root) { read_root(root, scenario); });
  if (!problems.empty()) return wrong(plan::error_of(problems).message);
  return scenario;
}

Result<Scenario> read_scenario_file(const std::string& path) {
  const auto text = read_whole_file(path, kMaxScenarioBytes);
  if (!text) return wrong(text.error().message);
  return read_scenario(*text, path);
}

}  // namespace railgauge::fleet

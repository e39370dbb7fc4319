#include "controller/upgrades/upgrade_stack.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/upgrades/upgrade_data.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Attached nodes for each node that may be measured at once.
constexpr std::size_t kOneIn = 20;

// Reports whether the part names the key. "nic_firmware.MODEL" is each model's nic_firmware.
bool is_key(const std::string& key, const std::string& part) {
  const std::string without_model = key.substr(0, key.find('.'));
  return key == part || key.ends_with("_" + part) || key.ends_with("." + part) ||
         without_model == part || without_model.ends_with("_" + part);
}

// Reports whether the value is the version or refines it: the next character is no letter or digit.
bool is_version(const std::string& value, const std::string& wanted) {
  if (!value.starts_with(wanted)) return false;
  return value.size() == wanted.size() ||
         std::isalnum(static_cast<unsigned char>(value[wanted.size()])) == 0;
}

}  // namespace

// Every key that the part names must have the version: a node may have several NIC models.
std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version) {
  bool known = false;
  std::vector<std::string> keys;
  for (const auto* half : {&stack.versions, &stack.settings})
    for (const auto& [key, value] : *half) {
      keys.push_back(key);
      if (!is_key(key, part)) continue;
      known = true;
      if (!is_version(value, version))
        return fmt::format("{} is {}, expected {}", key, value, version);
    }
  return known ? ""
               : fmt::format("it reports no {}, expected {}{}", part, version,
                             did_you_mean(part, keys));
}

// Versions come first: a new driver brings new settings along, and these differ between nodes.
std::set<std::string> moved_to(const store::StackParts& before, const store::StackParts& now) {
  std::set<std::string> versions;
  std::set<std::string> settings;
  std::set<std::string> devices;
  for (const store::StackChange& change : lasting_changes(store::stack_changes(before, now))) {
    const std::string& part = change.part;
    const bool is_version = before.versions.contains(part) || now.versions.contains(part);
    auto& kind = store::is_of_presence(part) ? devices : is_version ? versions : settings;
    kind.insert(fmt::format("{} -> {}", part, change.to));
  }
  if (!versions.empty()) return versions;
  return settings.empty() ? devices : settings;
}

std::string words_of(const std::set<std::string>& moved) {
  return moved.empty() ? "nothing" : fmt::format("{}", fmt::join(moved, ", "));
}

// Groups by the text of the change; the newest node of a group decides whether it is stable.
std::vector<Cohort> stable_cohorts(std::span<const MovedNode> moved, double now, double long_ago) {
  struct Group {
    std::vector<std::string> nodes{};
    double newest = 0;
  };
  std::map<std::string, Group> groups;
  for (const MovedNode& node : moved) {
    if (now - node.since > long_ago) continue;
    Group& group = groups[node.to];
    group.newest = std::max(group.newest, node.since);
    if (!node.handled) group.nodes.push_back(node.node);
  }
  std::vector<Cohort> out;
  for (auto& [to, group] : groups) {
    if (group.nodes.empty() || now - group.newest < kStableSeconds) continue;
    std::ranges::sort(group.nodes);
    out.push_back({.nodes = std::move(group.nodes), .to = to});
  }
  return out;
}

std::size_t most_at_once(std::size_t attached) {
  return std::max<std::size_t>(1, attached / kOneIn);
}

}  // namespace railgauge

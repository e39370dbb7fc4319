#include "controller/store/rows/stack_parts.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include <fmt/format.h>

#include "kernels/core/stack_hash.h"

namespace railgauge::store {
namespace {

// A value that could not be read now is the old one until it is read again: no change is reported
// for it.
void fill(const TextMap& before, TextMap& now, bool incomplete) {
  for (const auto& [name, value] : before) {
    const auto found = now.find(name);
    if (found == now.end() ? incomplete : found->second == kUnknownPart) now[name] = value;
  }
}

// Both maps' names with their values; a name that is in both is a version here and a setting there.
TextMap joined(const StackParts& parts) {
  TextMap all = parts.versions;
  all.insert(parts.settings.begin(), parts.settings.end());
  return all;
}

// Parts that a node reports only while it has a device of the kind: firmware by model ("."),
// settings of ports. Parts that a driver or a library reports are not among them.
struct DeviceKind {
  std::string_view name;
  std::span<const std::string_view> prefixes;
};
constexpr std::array<std::string_view, 3> kOfNics{"nic_", "nic.", "qos."};
constexpr std::array<std::string_view, 3> kOfGpus{"gpu_vbios", "gpu_bar1_bytes",
                                                  "peer_memory_path"};
constexpr std::array kKinds{DeviceKind{kRdmaDevice, kOfNics}, DeviceKind{kGpuDevice, kOfGpus}};
// This part belongs to both kinds of devices: it disappears with either.
constexpr std::string_view kOfPaths = "acs_on_gpu_nic_paths";

// A part belongs to a kind of device by its name's beginning.
bool is_of(const DeviceKind& kind, std::string_view part) {
  return std::ranges::any_of(kind.prefixes,
                             [&](std::string_view prefix) { return part.starts_with(prefix); });
}

// Whether the stack has any part of that kind.
bool has_any(const DeviceKind& kind, const TextMap& parts) {
  return std::ranges::any_of(parts, [&](const auto& part) { return is_of(kind, part.first); });
}

// Kinds of which the one side has something and the other has nothing.
std::vector<DeviceKind> gone_between(const TextMap& with, const TextMap& without) {
  std::vector<DeviceKind> out;
  for (const DeviceKind& kind : kKinds)
    if (has_any(kind, with) && !has_any(kind, without)) out.push_back(kind);
  return out;
}

// Parts that disappear or appear with the devices are no changes of their own.
bool goes_with(const std::vector<DeviceKind>& kinds, std::string_view part) {
  return std::ranges::any_of(
      kinds, [&](const DeviceKind& kind) { return is_of(kind, part) || part == kOfPaths; });
}

// "module.nvidia" of "module.nvidia.NVreg_EnableMSI"; "" of what is no module's parameter.
std::string_view module_of(std::string_view part) {
  constexpr std::string_view kModule = "module.";
  if (!part.starts_with(kModule)) return "";
  return part.substr(0, part.find('.', kModule.size()));
}

using Modules = std::set<std::string_view>;

// Into the names of the maps, which must stay.
Modules modules_of(const TextMap& parts) {
  Modules out;
  for (const auto& [name, value] : parts)
    if (const std::string_view module = module_of(name); !module.empty()) out.insert(module);
  return out;
}

}  // namespace

// Versions and settings alike.
StackParts fill_unknown(const StackParts& before, StackParts now, bool incomplete) {
  fill(before.versions, now.versions, incomplete);
  fill(before.settings, now.settings, incomplete);
  return now;
}

std::string text_of(const StackChange& change) {
  return fmt::format("{} {} -> {}", change.part, change.from, change.to);
}

std::vector<std::string> texts_of(const std::vector<StackChange>& changes) {
  std::vector<std::string> texts;
  for (const StackChange& change : changes) texts.push_back(text_of(change));
  return texts;
}

// Devices and modules first: a part that came or went with one of them is covered by that one
// change. Then each remaining name is compared.
std::vector<StackChange> stack_changes(const StackParts& before, const StackParts& now) {
  const TextMap old = joined(before);
  const TextMap fresh = joined(now);
  TextMap names = old;
  names.insert(fresh.begin(), fresh.end());
  const std::vector<DeviceKind> gone = gone_between(old, fresh);
  const std::vector<DeviceKind> come = gone_between(fresh, old);
  std::vector<StackChange> changes;
  for (const DeviceKind& kind : gone) changes.push_back(gone_change(kind.name));
  for (const DeviceKind& kind : come)
    changes.push_back({std::string(kind.name), "none", "present"});
  const Modules had = modules_of(old);
  const Modules has = modules_of(fresh);
  for (const std::string_view module : had)
    if (!has.contains(module)) changes.push_back({std::string(module), "loaded", "none"});
  for (const std::string_view module : has)
    if (!had.contains(module)) changes.push_back({std::string(module), "none", "loaded"});
  for (const auto& [name, unused] : names) {
    const std::string_view module = module_of(name);
    if (!module.empty() && had.contains(module) != has.contains(module)) continue;
    const auto was = old.find(name);
    const auto is = fresh.find(name);
    if ((is == fresh.end() && goes_with(gone, name)) || (was == old.end() && goes_with(come, name)))
      continue;
    const std::string from = was == old.end() ? "none" : was->second;
    const std::string to = is == fresh.end() ? "none" : is->second;
    if (from == to || from == kUnknownPart || to == kUnknownPart) continue;
    changes.push_back({name, from, to});
  }
  std::ranges::sort(changes, {}, [](const StackChange& one) { return text_of(one); });
  return changes;
}

StackChange gone_change(std::string_view device) {
  return {std::string(device), "present", "gone"};
}

// By prefix, so that a change's text fits as well as a part's name.
bool is_of_device(std::string_view device, std::string_view change) {
  return std::ranges::any_of(
             kKinds,
             [&](const DeviceKind& kind) { return kind.name == device && is_of(kind, change); }) ||
         change.starts_with(kOfPaths);
}

// The part is the text's first word.
bool is_of_presence(std::string_view change) {
  const std::string_view part = change.substr(0, change.find(' '));
  return std::ranges::any_of(kKinds, [&](const DeviceKind& kind) { return kind.name == part; });
}

// The last entry counts the changes that are left out.
std::vector<std::string> told_changes(std::vector<std::string> changes, std::size_t most) {
  if (changes.size() <= most) return changes;
  const std::size_t more = changes.size() - most;
  changes.resize(most);
  changes.push_back(fmt::format("{} more", more));
  return changes;
}

}  // namespace railgauge::store

#include "controller/store/stack_parts.h"

#include <fmt/format.h>

#include "kernels/core/stack_hash.h"

namespace railgauge::store {
namespace {

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

}  // namespace

StackParts fill_unknown(const StackParts& before, StackParts now, bool incomplete) {
  fill(before.versions, now.versions, incomplete);
  fill(before.settings, now.settings, incomplete);
  return now;
}

std::vector<std::string> stack_changes(const StackParts& before, const StackParts& now) {
  const TextMap old = joined(before);
  const TextMap fresh = joined(now);
  TextMap names = old;
  names.insert(fresh.begin(), fresh.end());
  std::vector<std::string> changes;
  for (const auto& [name, unused] : names) {
    const auto was = old.find(name);
    const auto is = fresh.find(name);
    const std::string from = was == old.end() ? "none" : was->second;
    const std::string to = is == fresh.end() ? "none" : is->second;
    if (from == to || from == kUnknownPart || to == kUnknownPart) continue;
    changes.push_back(fmt::format("{} {} -> {}", name, from, to));
  }
  return changes;
}

std::vector<std::string> told_changes(std::vector<std::string> changes, std::size_t most) {
  if (changes.size() <= most) return changes;
  const std::size_t more = changes.size() - most;
  changes.resize(most);
  changes.push_back(fmt::format("{} more", more));
  return changes;
}

}  // namespace railgauge::store

#include "agent/inventory/facts/grouped.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/stack_hash.h"

namespace railgauge::agent {

void Grouped::add(const std::string& subject, const Fact<std::string>& fact) {
  if (fact.is_absent()) return;
  if (fact.is_known())
    subjects_[fact.value].push_back(subject);
  else
    is_unknown_ = true;
}

void Grouped::put(std::map<std::string, std::string>& words, const std::string& name) const {
  if (is_unknown_) {
    words[name] = kUnknownPart;
    return;
  }
  if (subjects_.empty()) return;
  if (subjects_.size() == 1) {
    words[name] = subjects_.begin()->first;
    return;
  }
  std::string text;
  for (const auto& [value, subjects] : subjects_) {
    std::vector<std::string> sorted = subjects;
    std::ranges::sort(sorted);
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", value, fmt::join(sorted, " "));
  }
  words[name] = text;
}

void put(std::map<std::string, std::string>& words, const std::string& name,
         const Fact<std::string>& fact) {
  if (!fact.is_absent()) words[name] = fact.is_known() ? fact.value : std::string(kUnknownPart);
}

}  // namespace railgauge::agent

// Remembers which node's delivery failed. Later records of the node may be in the queue already: if
// they were stored, the node's mark would pass over the missing ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// The writer thread's alone.
class Deliveries {
 public:
  // kAborted: one before it is missing.
  Status check(const std::string& node_id, const std::optional<SpoolRange>& range) const {
    const auto failed = failed_.find(node_id);
    if (!range || failed == failed_.end() || range->first <= failed->second) return {};
    return fail(Code::kAborted,
                fmt::format("records of node {} from {} on: those from {} on were not stored; they "
                            "are sent again first",
                            node_id, range->first, failed->second));
  }
  void note(const std::string& node_id, const SpoolRange& range, const Status& outcome) {
    if (outcome) {
      if (!failed_.empty()) failed_.erase(node_id);
    } else {
      failed_.try_emplace(node_id, range.first);
    }
  }

 private:
  std::unordered_map<std::string, std::int64_t> failed_;  // by node: its first record
};

}  // namespace railgauge::store

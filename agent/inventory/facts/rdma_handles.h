// Lines of a control group's rdma.max and rdma.current: "hca_handle=2 hca_object=max". Pure.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// Returns the number behind `key` ("hca_handle="); absent for "max" and without the key.
inline std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::uint64_t number = 0;
  if (at == std::string_view::npos) return std::nullopt;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data() + at + key.size(), end, number).ec == std::errc()
             ? std::optional(number)
             : std::nullopt;
}

// Returns the number of handles or objects, whichever is scarcer, that the group may still create;
// kUnlimited without a limit.
inline std::uint64_t rdma_handles_left(std::string_view most, std::string_view in_use) {
  std::uint64_t left = kUnlimited;
  for (const std::string_view key : {"hca_handle=", "hca_object="})
    if (const auto limit = number_behind(most, key))
      left = std::min(left, *limit - std::min(*limit, number_behind(in_use, key).value_or(0)));
  return left;
}

}  // namespace railgauge::agent

// The rules of the contract tests for every error, and the extent of their walk.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

// Reports whether the full check runs (RAILGAUGE_CHECK_FULL=1) instead of the short one.
inline bool full_check() {
  const char* full = std::getenv("RAILGAUGE_CHECK_FULL");
  return full != nullptr && std::string_view(full) == "1";
}

// Expects one clear line. `call` is the number of the call that was made to fail.
inline void expect_clear(const Status& status, std::uint64_t call) {
  if (status) return;
  const std::string& message = status.error().message;
  EXPECT_GE(message.size(), 10U) << "call " << call << ": " << message;
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("\n")));
  EXPECT_NE(message.back(), '.');
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("Success")));
}

// Expects that a failed call ended a rank, unless the call is one of `survivable`.
template <class Results>
void expect_told(const Results& results, std::string_view failed_call,
                 std::span<const std::string_view> survivable) {
  if (std::ranges::find(survivable, failed_call) != survivable.end()) return;
  EXPECT_FALSE(std::ranges::all_of(results, [](const auto& result) { return bool{result.status}; }))
      << failed_call << " failed and both ranks passed";
}

}  // namespace railgauge

// What the contract tests say of every error.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <string>

#include "kernels/core/result.h"

namespace railgauge {

// One clear line. `call` says which call was made to fail.
inline void expect_clear(const Status& status, std::uint64_t call) {
  if (status) return;
  const std::string& message = status.error().message;
  EXPECT_GE(message.size(), 10U) << "call " << call << ": " << message;
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("\n")));
  EXPECT_NE(message.back(), '.');
  EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr("Success")));
}

}  // namespace railgauge

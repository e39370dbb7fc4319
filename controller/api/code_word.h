// The words of error codes in JSON.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::api {

// "invalid_argument": gRPC's name of the code. Pure.
constexpr std::string_view code_word(Code code) {
  constexpr std::array<std::string_view, 17> kWords{
      "ok",
      "cancelled",
      "unknown",
      "invalid_argument",
      "deadline_exceeded",
      "not_found",
      "already_exists",
      "permission_denied",
      "resource_exhausted",
      "failed_precondition",
      "aborted",
      "out_of_range",
      "unimplemented",
      "internal",
      "unavailable",
      "data_loss",
      "unauthenticated",
  };
  const auto index = static_cast<std::size_t>(code);
  return index < kWords.size() ? kWords[index] : "unknown";
}

}  // namespace railgauge::api

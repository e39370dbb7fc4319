#include "kernels/core/base/outcome.h"

#include <algorithm>
#include <array>

namespace railgauge {

std::string_view outcome_of(Code code) {
  switch (code) {
    case Code::kUnimplemented:
    case Code::kNotFound:
    case Code::kFailedPrecondition:
    case Code::kPermissionDenied:
      return kWaived;
    case Code::kDataLoss:
      return kFailed;
    case Code::kDeadlineExceeded:
      return kTimedOut;
    case Code::kCancelled:
      return kCancelledOutcome;
    default:
      return kCrashed;
  }
}

int exit_code_of(std::string_view outcome) {
  if (outcome == kPassed) return kExitPassed;
  if (outcome == kFailed) return kExitFailed;
  if (outcome == kWaived) return kExitWaived;
  if (outcome == kCancelledOutcome) return kExitInterrupted;
  return kExitInvalid;
}

int exit_code_of(const Error& error) {
  return error.code == Code::kInvalidArgument ? kExitUsage : exit_code_of(outcome_of(error.code));
}

int combine_exit_codes(std::span<const int> codes) {
  if (codes.empty()) return kExitInvalid;
  constexpr std::array kOrder{kExitInterrupted, kExitTerminated, kExitUsage,
                              kExitFailed,      kExitInvalid,    kExitInconclusive};
  for (const int code : kOrder)
    if (std::ranges::find(codes, code) != codes.end()) return code;
  return std::ranges::find(codes, +kExitPassed) != codes.end() ? kExitPassed : kExitWaived;
}

}  // namespace railgauge

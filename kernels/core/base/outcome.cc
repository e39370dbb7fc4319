// The mapping from errors to outcomes, and from outcomes to exit codes.
#include "kernels/core/base/outcome.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace railgauge {

// A code that is not listed is a fault of the program or of the machine: crashed.
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

std::string error_text(const Error& error) {
  return fmt::format("{} {}", static_cast<int>(error.code), error.message);
}

std::optional<Error> error_in(std::string_view text) {
  int code = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), code);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (bad != std::errc{} || code < 1 || code > static_cast<int>(Code::kUnauthenticated) ||
      !text.starts_with(' '))
    return std::nullopt;
  return Error{static_cast<Code>(code), std::string(text.substr(1))};
}

// An unknown outcome is invalid, never passed.
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

// The order of urgency: a person's interrupt, wrong usage, failure, invalid data, and then the
// rest.
int combine_exit_codes(std::span<const int> codes) {
  if (codes.empty()) return kExitInvalid;
  constexpr std::array kOrder{kExitInterrupted, kExitTerminated, kExitUsage,
                              kExitFailed,      kExitInvalid,    kExitInconclusive};
  for (const int code : kOrder)
    if (std::ranges::find(codes, code) != codes.end()) return code;
  return std::ranges::find(codes, +kExitPassed) != codes.end() ? kExitPassed : kExitWaived;
}

}  // namespace railgauge

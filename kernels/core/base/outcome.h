// Outcomes and exit codes, as DESIGN fixes them for every program.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

inline constexpr std::string_view kPassed = "passed";
inline constexpr std::string_view kFailed = "failed";
inline constexpr std::string_view kWaived = "waived";
inline constexpr std::string_view kCrashed = "crashed";
inline constexpr std::string_view kTimedOut = "timed_out";
inline constexpr std::string_view kCancelledOutcome = "cancelled";

enum ExitCode : int {
  kExitPassed = 0,
  kExitFailed = 1,  // failed or regressed
  kExitUsage = 2,
  kExitInconclusive = 3,
  kExitInvalid = 4,  // invalid, crashed, timed out, unreachable
  kExitWaived = 5,
  kExitInterrupted = 130,
  kExitTerminated = 143,
};

// The outcome that an error of a kernel means: missing things waive, wrong bytes fail, the rest
// crashed.
std::string_view outcome_of(Code code);
// Exit code of one outcome.
int exit_code_of(std::string_view outcome);
// Exit code of an error outside a task (a CLI's own failure): usage 2, unreachable and the rest 4.
int exit_code_of(const Error& error);
// One code for a mixture: the first that applies of 130, 143, 2, 1, 4, 3, 5, 0; passed plus waived
// is 0; nothing at all is 4, since missing data never passes.
int combine_exit_codes(std::span<const int> codes);

}  // namespace railgauge

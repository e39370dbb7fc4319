// Outcomes and exit codes, as DESIGN fixes them for every program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

// Outcomes of a task, as records, JSON and the database hold them.
inline constexpr std::string_view kPassed = "passed";
inline constexpr std::string_view kFailed = "failed";
inline constexpr std::string_view kWaived = "waived";
inline constexpr std::string_view kCrashed = "crashed";
inline constexpr std::string_view kTimedOut = "timed_out";
inline constexpr std::string_view kCancelledOutcome = "cancelled";

// Exit codes of every program here.
enum ExitCode : int {
  kExitPassed = 0,
  // Failed or regressed.
  kExitFailed = 1,
  kExitUsage = 2,
  kExitInconclusive = 3,
  // Invalid, crashed, timed out, unreachable.
  kExitInvalid = 4,
  kExitWaived = 5,
  // 128 and the signal's number, as a shell reports it: SIGINT and SIGTERM.
  kExitInterrupted = 130,
  kExitTerminated = 143,
};

// The outcome of a kernel's error: a lack of the machine waives, wrong bytes fail, a deadline is
// timed_out, all else is crashed. Pure.
std::string_view outcome_of(Code code);
// An error as a payload between ranks, "CODE MESSAGE", and the way back; nothing for another text.
// Pure.
std::string error_text(const Error& error);
std::optional<Error> error_in(std::string_view text);
// Exit code of one outcome. Pure.
int exit_code_of(std::string_view outcome);
// Exit code of an error outside a task (a CLI's own failure): usage 2, unreachable and the rest 4.
int exit_code_of(const Error& error);
// One code for a mixture: the first that applies of 130, 143, 2, 1, 4, 3, 5, 0; passed plus waived
// is 0; nothing at all is 4, since missing data never passes.
int combine_exit_codes(std::span<const int> codes);

}  // namespace railgauge

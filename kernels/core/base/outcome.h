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

// Maps a kernel's error to its outcome: a lack of the machine is waived, wrong bytes are failed, a
// missed deadline is timed_out, every other code is crashed. Pure.
std::string_view outcome_of(Code code);
// Writes an error as a payload between ranks, "CODE MESSAGE", and reads one back; absent for any
// other text. Pure.
std::string error_text(const Error& error);
std::optional<Error> error_in(std::string_view text);
// Returns the exit code of one outcome. Pure.
int exit_code_of(std::string_view outcome);
// Returns the exit code of an error outside a task (a CLI's own failure): 2 for usage, 4 for
// unreachable and every other error.
int exit_code_of(const Error& error);
// Combines exit codes into one: the first present of 130, 143, 2, 1, 4, 3, 5, 0. Passed with waived
// yields 0; no code at all yields 4, since missing data never passes.
int combine_exit_codes(std::span<const int> codes);

}  // namespace railgauge

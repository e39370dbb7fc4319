// Result<T>: a value, or an Error that the outside world causes. Programmer errors CHECK instead.
// tl::expected has std::expected's interface, so the move to C++23 changes only this alias.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

namespace railgauge {

// The kind of an error. Numbered as gRPC's status codes, so that the edges convert with a cast.
enum class Code : int {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,   // the caller's input is wrong: exit code 2
  kDeadlineExceeded = 4,  // outcome timed_out
  kNotFound = 5,          // a thing this machine lacks: outcome waived
  kAlreadyExists = 6,
  kPermissionDenied = 7,  // outcome waived, the message says what to grant
  kResourceExhausted = 8,
  kFailedPrecondition = 9,  // impossible in the present state: outcome waived
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,  // this build or driver cannot: outcome waived
  kInternal = 13,
  kUnavailable = 14,  // a peer is gone: outcome crashed, "unreachable"
  kDataLoss = 15,     // wrong bytes or a missed floor: outcome failed
  kUnauthenticated = 16,
};

// An error with one line of text: thing, act, observed cause, remedy. The line has no period at its
// end, no newline and no guess.
struct Error {
  Code code = Code::kUnknown;
  std::string message;
};

// A value or an error; Status has no value.
template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// Makes an error to return from a function of Result or Status.
inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}
// Makes the same error with a message formatted by fmt::format().
template <class First, class... Args>
tl::unexpected<Error> fail(Code code, fmt::format_string<First, Args...> text, First&& first,
                           Args&&... args) {
  return fail(code, fmt::format(text, std::forward<First>(first), std::forward<Args>(args)...));
}
// Makes a kInvalidArgument error: the caller's input is wrong.
inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
template <class First, class... Args>
tl::unexpected<Error> invalid(fmt::format_string<First, Args...> text, First&& first,
                              Args&&... args) {
  return invalid(fmt::format(text, std::forward<First>(first), std::forward<Args>(args)...));
}

// Writes the condition and its place to stderr and ends the process (SIGABRT).
[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace railgauge

// Ends the process when the condition is false, in release builds too. For programmer errors only.
#define RG_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::railgauge::check_failed(#condition, __FILE__, __LINE__))

// Yields the value of a Result; on error, returns the error from the enclosing function (GNU
// statement expression).
#define RG_TRY(expression)                                                 \
  __extension__({                                                          \
    auto rg_result_ = (expression);                                        \
    if (!rg_result_) return tl::unexpected(std::move(rg_result_).error()); \
    std::move(*rg_result_);                                                \
  })

// Does the same for a Status, which has no value.
#define RG_TRY_OK(expression)                               \
  do {                                                      \
    if (auto rg_status_ = (expression); !rg_status_)        \
      return tl::unexpected(std::move(rg_status_).error()); \
  } while (false)

// Checks that fuzz targets share. A failed check prints itself and aborts, which libFuzzer reports
// as a crash with the input that caused it. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fuzzer/FuzzedDataProvider.h>

#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

// Ends the process when the condition is false. `shown` is a text that explains the failure.
#define FUZZ_CHECK(condition, shown)  \
  ((condition) ? static_cast<void>(0) \
               : ::railgauge::fuzz::check_failed(#condition, __FILE__, __LINE__, (shown)))

namespace railgauge::fuzz {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line,
                                      std::string_view shown) {
  std::fprintf(stderr, "%s:%d: property does not hold: %s\n  for %zu bytes: ", file, line,
               condition, shown.size());
  for (const char c : shown.substr(0, 2'000)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f)
      std::fputc(byte, stderr);
    else
      std::fprintf(stderr, "\\x%02x", byte);
  }
  std::fputc('\n', stderr);
  std::abort();
}

inline bool has_control_bytes(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// Bound of a line for people. The longest honest ones list all keys of a suite.
inline constexpr std::size_t kMaxLineBytes = 4'096;

// Checks text that reaches a person or a log as one line.
inline void check_line(std::string_view line) {
  FUZZ_CHECK(!line.empty(), line);
  FUZZ_CHECK(!has_control_bytes(line), line);
  FUZZ_CHECK(valid_utf8(line) == line, line);
  FUZZ_CHECK(line.size() <= kMaxLineBytes, line);
}

// Checks an error by the rules of kernels/core/base/result.h.
inline void check_error(const Error& error) {
  check_line(error.message);
  FUZZ_CHECK(error.message.back() != '.', error.message);
}
template <class T>
void check_error(const Result<T>& result) {
  if (!result) check_error(result.error());
}

// The message of a result's error; "" for a value. For FUZZ_CHECK.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? std::string() : result.error().message;
}

}  // namespace railgauge::fuzz

// The words of severity, the same in notes, events, findings, metrics and alerts. States of checks
// (pass, warn, fail) and levels of the log are other words.
#pragma once

#include <string>
#include <string_view>

namespace railgauge::severity {

inline constexpr const char* kInfo = "info";          // nothing has to be done
inline constexpr const char* kWarning = "warning";    // somebody has to look, in office hours
inline constexpr const char* kCritical = "critical";  // somebody has to look now

// Returns the word in use for one of earlier programs ("warn", "fail"); other words stay. Such
// programs still send records and events, and theirs are stored.
constexpr std::string_view present(std::string_view word) {
  return word == "warn" ? kWarning : word == "fail" ? kCritical : word;
}

// Returns a text that begins with a severity, as "fail: gpu0 fell off the bus", with the word in
// use.
inline std::string with_present(std::string text) {
  for (const std::string_view word : {"warn", "fail"})
    if (text.starts_with(word) && text.substr(word.size()).starts_with(": "))
      return std::string(present(word)) + text.substr(word.size());
  return text;
}

}  // namespace railgauge::severity

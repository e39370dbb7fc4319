// Ends the process at a named place, for fault tests. With RAILGAUGE_FAILPOINT=NAME the process
// kills itself there as a power cut would; with hang:NAME the thread that reaches the place stays;
// with NAME=VALUE the place reads a value. Compiled in only with the CMake option
// RAILGAUGE_FAILPOINTS, never in a release.
#pragma once

#ifdef RAILGAUGE_FAILPOINTS
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#endif

#include <string_view>

namespace railgauge {

// Ends or hangs the process at the place `name` where RAILGAUGE_FAILPOINT names it; otherwise does
// nothing.
inline void failpoint([[maybe_unused]] const char* name) {
#ifdef RAILGAUGE_FAILPOINTS
  const char* chosen = std::getenv("RAILGAUGE_FAILPOINT");
  if (chosen == nullptr) return;
  constexpr std::string_view kHang = "hang:";
  std::string_view place(chosen);
  const bool hangs = place.starts_with(kHang);
  if (hangs) place.remove_prefix(kHang.size());
  if (place != name) return;
  if (!hangs) std::raise(SIGKILL);
  for (;;) ::pause();
#endif
}

// Returns VALUE where RAILGAUGE_FAILPOINT is `name`=VALUE, else "".
inline std::string_view failpoint_value([[maybe_unused]] std::string_view name) {
#ifdef RAILGAUGE_FAILPOINTS
  const char* chosen = std::getenv("RAILGAUGE_FAILPOINT");
  const std::string_view all(chosen == nullptr ? "" : chosen);
  if (all.size() > name.size() && all.starts_with(name) && all[name.size()] == '=')
    return all.substr(name.size() + 1);
#endif
  return {};
}

}  // namespace railgauge

// Crash at a named place, for fault tests: with RAILGAUGE_FAILPOINT=NAME the process kills itself
// there as a power cut would. Compiled in only with the CMake option RAILGAUGE_FAILPOINTS; never in
// a release.
#pragma once

#ifdef RAILGAUGE_FAILPOINTS
#include <csignal>
#include <cstdlib>
#include <string_view>
#endif

namespace railgauge {

inline void failpoint([[maybe_unused]] const char* name) {
#ifdef RAILGAUGE_FAILPOINTS
  const char* chosen = std::getenv("RAILGAUGE_FAILPOINT");
  if (chosen != nullptr && std::string_view(chosen) == name) std::raise(SIGKILL);
#endif
}

}  // namespace railgauge

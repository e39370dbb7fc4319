// Reads the CPU time of the calling thread.
#include "kernels/core/cpu/thread_cpu.h"

#include <ctime>

#include <fmt/format.h>

namespace railgauge {

// CLOCK_THREAD_CPUTIME_ID counts user and system time of this thread.
double thread_cpu_ns() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e9 + static_cast<double>(spent.tv_nsec);
}

std::string cost_words(double value) { return fmt::format("{:.4g}", value); }

}  // namespace railgauge

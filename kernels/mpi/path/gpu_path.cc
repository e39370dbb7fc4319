// The verdict on the path of messages in GPU memory.
#include "kernels/mpi/path/gpu_path.h"

#include <fmt/format.h>

namespace railgauge::mpi {

GpuPath gpu_path_of(const GpuTimes& times) {
  constexpr double kNsPerUs = 1e3;
  if (times.direct_ns <= 0 || times.staged_ns <= 0)
    return {.observed = "unknown", .evidence = "no staged twin was measured"};
  GpuPath found{.observed = "unknown",
                .evidence = fmt::format("a message takes {:.2f} us, its staged twin {:.2f} us",
                                        times.direct_ns / kNsPerUs, times.staged_ns / kNsPerUs)};
  if (times.copy_ns > 0)
    found.evidence += fmt::format(", a copy to the host {:.2f} us", times.copy_ns / kNsPerUs);
  if (times.direct_ns >= kLooksStagedShare * times.staged_ns)
    found.observed = "looks staged";
  else if (times.message_bytes >= kLeastProvenBytes && times.copy_ns > 0 &&
           times.direct_ns < kNotCopiedShare * times.copy_ns)
    found.observed = "direct";
  return found;
}

}  // namespace railgauge::mpi

// The bandwidth kernels: one class, which the operation fills in.
#pragma once

#include <memory>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/link/parameters.h"

namespace railgauge::verbs {

// The declaration of one bandwidth kernel, as its catalog row needs it.
struct BandwidthForm {
  // Name in the catalog, as "verbs.write_bw".
  std::string name;
  // Raised when figures are no longer comparable with those of the revision before.
  std::uint32_t revision = 1;
  // One line for the list of kernels.
  std::string summary;
  Verb verb = Verb::kWrite;
  std::string plural;  // of the operation: "writes"
  ConnectionForm connection;
};
// Name, metrics and parameters. Parameters of receives, atomics and sizes depend on the operation.
KernelInfo bandwidth_info(const BandwidthForm& form);

// The kernel for the memory that the task's parameters choose: direct, staged, or both.
std::unique_ptr<Kernel> make_bandwidth(Verb verb);

}  // namespace railgauge::verbs

// The bandwidth kernels: one class, which the operation fills in.
#pragma once

#include <memory>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/link/parameters.h"

namespace railgauge::verbs {

struct BandwidthForm {
  std::string name;
  std::uint32_t revision = 1;
  std::string summary;
  Verb verb = Verb::kWrite;
  std::string plural;  // of the operation: "writes"
  ConnectionForm connection;
};
KernelInfo bandwidth_info(const BandwidthForm& form);

std::unique_ptr<Kernel> make_bandwidth(Verb verb);

}  // namespace railgauge::verbs

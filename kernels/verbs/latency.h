// The latency kernels: ping-pong, where the target's CPU answers, and completion, where its adapter
// does. One class each, which the operation fills in.
#pragma once

#include <memory>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/link/parameters.h"

namespace railgauge::verbs {

// The declaration of one latency kernel, as its catalog row needs it.
struct LatencyForm {
  // Name in the catalog, as "verbs.write_lat".
  std::string name;
  // Raised when figures are no longer comparable with those of the revision before.
  std::uint32_t revision = 1;
  std::string summary;
  Verb verb = Verb::kWrite;
  std::string plural;  // of the operation: "writes"
  ConnectionForm connection;
};
// Name, metric latency_ns and parameters, which depend on the operation.
KernelInfo latency_info(const LatencyForm& form);

// Half a round trip of write, write with immediate data, or send.
std::unique_ptr<Kernel> make_ping_pong(Verb verb);
// From post to completion of read or atomic.
std::unique_ptr<Kernel> make_completion_latency(Verb verb);

}  // namespace railgauge::verbs

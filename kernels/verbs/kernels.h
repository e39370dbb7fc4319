// The kernels over one link: five bandwidths and five latencies, by operation and figure.
#pragma once

#include <memory>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/operation.h"

namespace railgauge::verbs {

// Each figure is a class in the file of its name.
enum class Figure : std::uint8_t {
  kBandwidth,
  // Half a round trip of write, write with immediate data, or send: the target's CPU answers.
  kPingPong,
  // From post to completion of read or atomic: the target's adapter answers.
  kCompletion,
};

// The declaration of one kernel, as its catalog row needs it.
struct KernelForm {
  const char* name;  // in the catalog, as "verbs.write_bw"
  // Raised when figures are no longer comparable with the previous revision's, or its ranks and
  // these no longer understand each other: ranks of different revisions refuse each other.
  std::uint32_t revision;
  const char* summary;  // one line for the list of kernels
  Verb verb;
  Figure figure;
};

std::unique_ptr<Kernel> make_bandwidth(Verb verb);
std::unique_ptr<Kernel> make_ping_pong(Verb verb);
std::unique_ptr<Kernel> make_completion_latency(Verb verb);

}  // namespace railgauge::verbs

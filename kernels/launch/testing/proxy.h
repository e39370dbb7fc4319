// The words of Hydra on 192.0.2.1 for one node's daemon, and a lease that covers them. For tests
// only.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/launch/node/grammar.h"

namespace railgauge::testing_proxy {

inline constexpr const char* kShim = "/opt/shim";

inline std::vector<std::string> words() {
  return {"192.0.2.2",       "/usr/bin/hydra_pmi_proxy",
          "--control-port",  "192.0.2.1:34763",
          "--rmk",           "user",
          "--launcher",      "rsh",
          "--launcher-exec", kShim,
          "--demux",         "poll",
          "--iface",         "eth0",
          "--pgid",          "0",
          "--retries",       "10",
          "--usize",         "-2",
          "--pmi-port",      "0",
          "--gpus-per-proc", "-2",
          "--proxy-id",      "1"};
}

inline launch::Lease lease() {
  return {.task = "run1/task1",
          .daemon = launch::Daemon::kHydraProxy,
          .nodes = {"192.0.2.2"},
          .launchers = {"192.0.2.1"},
          .network = "eth0",
          .expires_monotonic_ns = monotonic_now_ns() + 600e9};
}

}  // namespace railgauge::testing_proxy

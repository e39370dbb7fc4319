// NCCL's settings: NCCL reads them from the process's environment and nccl.conf at its first use. A
// task's declared settings go into the environment, and the effective ones become facts.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"

namespace railgauge::nccl {

// Declares `environment` (site, clean) and the settings that a task may name, each "site" (or -1,
// 0, "") unless given: ib_disable, ib_hca, socket_ifname, net_gdr_level, ... All are part of
// identity.
void add_environment_parameters(InfoBuilder& builder);

// Writes the settings into this process's environment, and directs debug output of any level into
// private memory unless a file is set. Call after CUDA is loaded and before NCCL. Adds facts:
// nccl_environment, nccl_environment_replaced (the node's own values that the task overrides),
// cuda_environment (CUDA's variables that NCCL reads), nccl_conf. kInvalidArgument for an
// impossible value.
Status apply_environment(Context& context);

// Checks the settings after NCCL is loaded, because NCCL reads them once a process.
// kFailedPrecondition when an earlier task of this process had different ones, which would apply
// here too.
Status check_environment(const Params& params, bool synthetic);

// NCCL's debug output, in memory private to this process.
class DebugOutput {
 public:
  // Skips the output of earlier tasks of this process.
  void begin();
  // Returns NCCL's output since the last call; "" when the output goes elsewhere.
  std::string read_new();
  // Turns NCCL's report of its choice for each call on or off. It costs a line of output a call, so
  // it is never on in a timed region. Returns false when that is not possible: releases before 2.24
  // read their debug settings only once. Drops unread output.
  bool report_choices(bool on);
  // Returns "" when the output goes to our memory, else the reason: "NCCL_DEBUG_FILE=/tmp/n was
  // set".
  [[nodiscard]] static std::string not_ours();

 private:
  // Bytes of the output read so far.
  std::uint64_t offset_ = 0;
};

// Checks a variable that wins over what the communicator is asked for: kFailedPrecondition where
// the environment or an nccl.conf has another value than `wanted`.
Status check_override(const std::string& variable, std::string_view wanted);

}  // namespace railgauge::nccl

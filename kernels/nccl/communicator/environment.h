// NCCL reads its settings from the process's environment and from nccl.conf when it is first used.
// A task's declared settings go there, and the settings in effect become facts.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"

namespace railgauge::nccl {

// `environment` (site, clean) and the settings that a task may name, each "site" (or -1, 0, "")
// unless given: ib_disable, ib_hca, socket_ifname, net_gdr_level, ... All are part of identity.
void add_environment_parameters(InfoBuilder& builder);

// Puts the settings into this process's environment, and debug output into memory of its own where
// nobody has set a file, whatever level is set. Called before NCCL is loaded and after CUDA is.
// Adds facts: nccl_environment, nccl_environment_replaced (the node's own where the task declares
// another), cuda_environment (CUDA's variables that NCCL finds), nccl_conf. kInvalidArgument for a
// value that cannot be one.
Status apply_environment(Context& context);

// After NCCL is loaded: it reads its settings once a process. kFailedPrecondition when an earlier
// task of this process had others, so that it would measure with those.
Status check_environment(const Params& params, bool synthetic);

// NCCL's debug output, in memory that only this process sees.
class DebugOutput {
 public:
  // Leaves out what NCCL has written for earlier tasks of this process.
  void begin();
  // NCCL's output since the last call; "" where its output goes elsewhere.
  std::string read_new();
  // Turns NCCL's report of its choice for each call on or off. It costs a line of output a call, so
  // it is never on in a timed region. Returns false where that is not possible: releases before
  // 2.24 read their debug settings only once. Drops unread output.
  bool report_choices(bool on);
  // Whether it is ours; else why not: "NCCL_DEBUG_FILE=/tmp/n was set".
  [[nodiscard]] static std::string not_ours();

 private:
  // Bytes of the output that have been read.
  std::uint64_t offset_ = 0;
};

}  // namespace railgauge::nccl

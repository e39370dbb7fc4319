// NCCL reads its settings from the process's environment and from nccl.conf when it is first used.
// Here a task's declared settings are put there, and what holds in the end is told as facts.
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
// nobody has set a file, whatever level is set. Before NCCL is loaded, after CUDA is. Tells facts:
// nccl_environment, nccl_environment_replaced (the node's own where the task declares another),
// cuda_environment (what NCCL finds there of CUDA's variables), nccl_conf.
// kInvalidArgument for a value that cannot be one.
Status apply_environment(Context& context);

// After NCCL is loaded: it reads its settings once a process. kFailedPrecondition when an earlier
// task of this process had others, so that it would measure with those.
Status check_environment(const Params& params, bool synthetic);

// NCCL's debug output, in memory that only this process sees.
class DebugOutput {
 public:
  // Leaves out what NCCL has written for earlier tasks of this process.
  void begin();
  // What NCCL has written since the last call; "" where its output goes elsewhere.
  std::string read_new();
  // Lets NCCL tell what it chooses for each call, or stop that: it costs a line of output a call,
  // so never in a timed region. False where that is not possible: releases before 2.24 read their
  // debug settings only once. Drops what was not read yet.
  bool tell_choices(bool on);
  // Whether it is ours; else why not: "NCCL_DEBUG_FILE=/tmp/n was set".
  [[nodiscard]] static std::string not_ours();

 private:
  std::uint64_t offset_ = 0;
};

}  // namespace railgauge::nccl

// A cause of a regression as the contract has it, with what it would take to separate changes that
// came together: some are taken back on one node and the others on another one, so that the next
// run accuses one half of them. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "controller/api/judge.pb.h"
#include "controller/verdict/causes.h"

namespace railgauge {

// The word of Undo.needs for taking a part of the stack back ("linux_kernel", "module.nvidia"):
// "reboot", "drain", "jobs" or "unknown".
std::string_view undo_needs(std::string_view part);

// The message of the cause. Several changes that a person can undo are shared out between its
// separators: those that need a reboot go to the first node, as far as halves allow, so that few
// nodes are rebooted.
api::UpgradeCause cause_message(const analysis::Cause& cause);

}  // namespace railgauge

// A whole synthetic node: its files, and the answers of NVML, netlink and the runner, which are
// files of the tree too:
//
// - answers/nvml: settings of the fake NVML, as in RAILGAUGE_FAKE_NVML; not there: no NVML.
// - answers/dcb/INTERFACE: the kernel's answer on netlink, its bytes.
// - answers/runner: a program in the runner's place, asked as the agent asks it; not there: no
//   registration was tried.
#pragma once

#include <set>
#include <string>

#include "agent/testing/node_tree.h"
#include "controller/api/preflight.h"

namespace railgauge::agent {

// Returns the preflight report of the node, by the agent's own readers and parsers.
api::PreflightReport report_on_whole(const NodeTree& tree, std::set<std::string> required = {});

}  // namespace railgauge::agent
